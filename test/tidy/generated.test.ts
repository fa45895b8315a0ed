import { existsSync } from 'node:fs';

import { expect } from 'chai';

import { contractTypes } from './contract-types.js';
import { referencePages } from './reference-pages.js';
import { readText } from './tree.js';

describe('generated files', () => {
  for (const [file, text] of [...contractTypes(), ...referencePages()]) {
    it(`${file} is what npm run generate writes`, () => {
      expect(existsSync(file), `${file} exists`).to.equal(true);
      expect(readText(file) === text, `${file} is fresh; run npm run generate`).to.equal(true);
    });
  }
});
