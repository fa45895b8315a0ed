import { buildError } from '../build-error.js';
import { eachText, type ProcessorKind } from './processor.js';

const METHODS: Readonly<Record<string, (text: string) => string>> = {
  upper: (text) => text.replace(/[a-z]+/g, (letters) => letters.toUpperCase()),
  lower: (text) => text.replace(/[A-Z]+/g, (letters) => letters.toLowerCase()),
  capital: (text) => text.replace(/^[^]/u, (letter) => letter.toUpperCase()),
};

/** Changes the letter case of strings: of ASCII letters, or of the first character. */
export const letter: ProcessorKind = {
  name: 'letter',
  build(options, slots) {
    const method = options.text('method') ?? 'lower';
    const change = Object.entries(METHODS).find(([name]) => name === method.toLowerCase())?.[1];
    if (change === undefined) throw buildError(`Invalid method: ${method}`);
    return eachText('letter', options, slots, (item, { from, to }) => item.setText(to, change(item.text(from))));
  },
};
