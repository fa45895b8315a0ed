import { buildError } from '../build-error.js';
import { eachText, type ProcessorKind } from './processor.js';

const METHODS: Readonly<Record<string, (text: string) => string>> = { decode: percentDecode, encode: percentEncode };
const ESCAPE = /%([0-9A-Fa-f]{2})/;
const RESERVED = /[^A-Za-z0-9\-_.~]+/gu;

/** Decodes or encodes percent escapes. */
export const urlencoding: ProcessorKind = {
  name: 'urlencoding',
  build(options, slots) {
    const method = options.text('method') ?? 'decode';
    const change = Object.entries(METHODS).find(([name]) => name === method.toLowerCase())?.[1];
    if (change === undefined) throw buildError(`Invalid method ${method}`);
    return eachText('urlencoding', options, slots, (item, { from, to }) => item.setText(to, change(item.text(from))));
  },
};

/** Decodes `%XX`; a plus stays, and so does what is no escape. Bytes that are not UTF-8 become U+FFFD. */
export function percentDecode(text: string): string {
  if (!text.includes('%')) return text;
  const bytes = Buffer.from(text);
  let length = 0;
  for (let at = 0; at < bytes.length; at++) {
    const match = bytes[at] === 0x25 ? ESCAPE.exec(bytes.toString('latin1', at, at + 3)) : null;
    bytes[length++] = match === null ? bytes[at] : parseInt(match[1], 16);
    if (match !== null) at += 2;
  }
  return bytes.toString('utf8', 0, length);
}

/** Encodes everything but letters, digits and `-_.~`. */
export function percentEncode(text: string): string {
  return text.replace(RESERVED, (part) => {
    return Array.from(Buffer.from(part), (byte) => `%${byte.toString(16).toUpperCase().padStart(2, '0')}`).join('');
  });
}
