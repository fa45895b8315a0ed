import type { FormatReader, ParsedFields, ParseFormat } from '../parse-format.js';

const HEADER = ['device_vendor', 'device_product', 'device_version', 'device_event_class_id', 'name', 'severity'];

/** Common Event Format of security devices: a header of seven parts and key-value pairs. */
export const CEF: ParseFormat = {
  name: 'cef',
  build: (): FormatReader => (text, fields) => {
    // The header of syslog may be in front.
    const start = text.indexOf('CEF:');
    const version = start < 0 ? null : /^CEF:(\d{1,3})\|/.exec(text.slice(start, start + 10));
    if (version === null) return false;
    fields.set('version', BigInt(version[1]));
    let at = start + version[0].length;
    for (const name of HEADER) {
      const end = unescapedIndex(text, '|', at);
      if (end < 0) return false;
      fields.set(name, unescapedCef(text.slice(at, end)));
      at = end + 1;
    }
    readExtension(text.slice(at), fields);
    return true;
  },
};

/** Reads `key=value` pairs. A value may have spaces: it ends at the last space in front of the next key. */
function readExtension(text: string, fields: ParsedFields): void {
  let equals = unescapedIndex(text, '=', 0);
  let key = text.slice(0, Math.max(equals, 0)).trim();
  while (equals >= 0) {
    const from = equals + 1;
    const next = unescapedIndex(text, '=', from);
    const length = next < 0 ? text.length - from : text.slice(from, next).lastIndexOf(' ');
    const end = from + Math.max(length, 0);
    if (key !== '') fields.set(key, unescapedCef(text.slice(from, end).trimEnd()));
    key = next < 0 ? '' : text.slice(end, next).trim();
    equals = next;
  }
}

function unescapedIndex(text: string, letter: string, from: number): number {
  for (let at = from; at < text.length; at++) {
    if (text[at] === '\\') at++;
    else if (text[at] === letter) return at;
  }
  return -1;
}

function unescapedCef(text: string): string {
  if (!text.includes('\\')) return text;
  return text.replace(/\\([^])/g, (_escape, letter: string) => ({ n: '\n', r: '\r' })[letter] ?? letter);
}
