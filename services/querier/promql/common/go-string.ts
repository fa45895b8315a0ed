/**
 * Strings that a query may contain although they are not valid UTF-8. A byte that is not part of valid UTF-8 is kept as the
 * lone surrogate U+DC00 + byte, so that such a string equals no valid one and Prometheus's errors can show the byte.
 */

const BYTE_BASE = 0xdc00;
const LONE_SURROGATE = /[\ud800-\udfff]/u;

/** Reports whether a string was valid UTF-8 in the query. */
export function isValidUtf8(text: string): boolean {
  return !LONE_SURROGATE.test(text);
}

/** Decodes UTF-8; bytes that are not valid become lone surrogates. */
export function decodeGoString(bytes: Buffer): string {
  const text = bytes.toString();
  if (!text.includes('\ufffd')) return text;
  let decoded = '';
  for (let at = 0; at < bytes.length;) {
    const length = validLength(bytes, at);
    decoded += length > 0 ? bytes.toString('utf8', at, at + length) : String.fromCharCode(BYTE_BASE + bytes[at]);
    at += Math.max(1, length);
  }
  return decoded;
}

/** Returns the length of the UTF-8 sequence at an offset; 0 if there is none. */
function validLength(bytes: Buffer, at: number): number {
  const first = bytes[at];
  const length = first < 0x80 ? 1 : first < 0xe0 ? 2 : first < 0xf0 ? 3 : 4;
  const sequence = bytes.subarray(at, at + length);
  return Buffer.from(sequence.toString()).equals(sequence) ? length : 0;
}

/** Replaces bytes that are not valid UTF-8 with U+FFFD, as JSON encoders do. */
export function toValidUtf8(text: string): string {
  return isValidUtf8(text) ? text : text.replace(/[\ud800-\udfff]/gu, '\ufffd');
}

const ESCAPES: Readonly<Record<string, string>> = {
  '"': '\\"',
  '\\': '\\\\',
  '\u0007': '\\a',
  '\b': '\\b',
  '\f': '\\f',
  '\n': '\\n',
  '\r': '\\r',
  '\t': '\\t',
  '\v': '\\v',
};

/** Returns the string in double quotes with Go's escapes. */
export function goQuoted(text: string): string {
  let escaped = '';
  for (const char of text) escaped += ESCAPES[char] ?? (isPrintable(char) ? char : hexEscape(char.charCodeAt(0)));
  return `"${escaped}"`;
}

function isPrintable(char: string): boolean {
  return char >= ' ' && char !== '\u007f' && isValidUtf8(char);
}

/** @param unit a control character, or a byte as a lone surrogate. */
function hexEscape(unit: number): string {
  return `\\x${(unit & 0xff).toString(16).padStart(2, '0')}`;
}
