import { existsSync } from 'node:fs';

import { expect } from 'chai';

import { contractTypes } from './contract-types.js';
import { openapiPage } from './openapi-page.js';
import { metricsIn } from './metrics-page.js';
import { referencePages } from './reference-pages.js';
import { readText } from './tree.js';
import { wasmModules } from './wasm-modules.js';

describe('generated files', () => {
  for (const [file, text] of [...contractTypes(), ...referencePages()]) {
    it(`${file} is what npm run generate writes`, () => {
      expect(existsSync(file), `${file} exists`).to.equal(true);
      expect(readText(file) === text, `${file} is fresh; run npm run generate`).to.equal(true);
    });
  }

  it('modules of WebAssembly are what npm run generate writes', () => {
    for (const [file, text] of wasmModules()) {
      expect(readText(file) === text, `${file} is fresh; run npm run generate`).to.equal(true);
    }
  });

  it('docs/openapi.yaml is what npm run generate writes', async () => {
    const [file, text] = await openapiPage();
    expect(readText(file) === text, `${file} is fresh; run npm run generate`).to.equal(true);
  });
});

describe('metrics page', () => {
  it('rejects a metric whose name, help or labels are not literals', () => {
    for (const options of [
      "name, help: 'x'",
      "name: 'a', help: text()",
      "name: 'a', help: 'x', labelNames",
      '...options',
    ]) {
      expect(() => metricsIn('a.ts', `metrics.counter({ ${options} });`)).to.throw('not a literal');
    }
  });
  it('lists name, type, help and labels', () => {
    const source = "metrics.gauge({ name: 'a', help: 'size in bytes', labelNames: ['b', 'c'] });";
    expect(metricsIn('a.ts', source)).to.deep.equal([
      { name: 'a', type: 'gauge', help: 'size in bytes', labels: ['b', 'c'] },
    ]);
  });
});
