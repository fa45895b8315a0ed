import { mkdirSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';

import { contractTypes } from './contract-types.js';
import { openapiPage } from './openapi-page.js';
import { referencePages } from './reference-pages.js';
import { wasmModules } from './wasm-modules.js';

const files = [...wasmModules(), ...contractTypes(), ...referencePages(), await openapiPage()];
for (const [file, text] of files) {
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(file, text);
}
