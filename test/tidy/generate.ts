import { mkdirSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';
import { contractTypes } from './contract-types.js';

for (const [file, text] of contractTypes()) {
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(file, text);
}
