/** Parsing of numbers in line protocol: `npm run bench -- micro`. */
import { NumberScanner } from '#shared/bytes/parse-number';

import { measure } from '../../measure.js';

const NUMBERS = 1_000;
const scanner = new NumberScanner();
for (const [name, print] of [
  ['integers', (i: number) => `${(i * 7919) % 100_000}i`],
  ['short floats', (i: number) => `${i % 100}.${(i * 7) % 100}`],
  ['floats of 17 digits', (i: number) => String(Math.sqrt(i + 2))],
] as const) {
  const texts = Array.from({ length: NUMBERS }, (_, i) => Buffer.from(print(i)));
  await measure(`numbers: ${name}`, 'numbers', NUMBERS, () => {
    for (const text of texts) scanner.scan(text, 0, text.length);
  });
}
