/** Length of a fingerprint; texts that differ later only are taken for one. */
const LENGTH_MAX = 2000;

/** Texts in quotes, comments, numbers, and what separates words. Names in double quotes or backticks are kept. */
const PARTS =
  /'(?:[^'\\]|''|\\.)*'|"(?:[^"\\]|""|\\.)*"|`[^`]*`|--[^\n]*|\/\*[^]*?\*\/|\b\d[\w.]*|[A-Za-z_][\w]*|\s+|[^]/g;

/**
 * Returns the text of a query without its literals, comments and differences of white space, so that queries that differ
 * only in these have the same one. Lists of literals become one, however long they are.
 *
 * @param isPromql in PromQL, texts in double quotes are literals and durations are numbers.
 */
export function fingerprintOf(text: string, isPromql: boolean): string {
  let out = '';
  for (const [part] of text.slice(0, LENGTH_MAX * 8).matchAll(PARTS)) {
    if (out.length > LENGTH_MAX) break;
    out += shapeOf(part, isPromql);
  }
  return out
    .replaceAll(/ +/g, ' ')
    .replaceAll(/\(\s*\?(?:\s*,\s*\?)+\s*\)/g, '(?, ..)')
    .trim()
    .slice(0, LENGTH_MAX);
}

function shapeOf(part: string, isPromql: boolean): string {
  if (/^\s/.test(part) || part.startsWith('/*') || (part.startsWith('--') && !isPromql)) return ' ';
  if (part.startsWith("'") && part.length > 1) return '?';
  if ((part.startsWith('"') || part.startsWith('`')) && part.length > 1) return isPromql ? '?' : part;
  return /^\d/.test(part) ? '?' : part;
}
