import { mkdirSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';

import { contractTypes } from './contract-types.js';
import { openapiPage } from './openapi-page.js';
import { referencePages } from './reference-pages.js';

for (const [file, text] of [...contractTypes(), ...referencePages(), await openapiPage()]) {
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(file, text);
}
