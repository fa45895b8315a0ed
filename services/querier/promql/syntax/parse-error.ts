import { AlmanacError } from '#shared/errors/almanac-error';

import type { PromToken } from './lex.js';

/**
 * An error of a query's text, in Prometheus's form: `line:col: parse error: text`, both from 1, columns in bytes.
 *
 * @param offset in UTF-16 units.
 */
export function parseError(query: string, offset: number, text: string): AlmanacError {
  const before = query.slice(0, offset);
  const lineStart = before.lastIndexOf('\n') + 1;
  const line = before.split('\n').length;
  const column = Buffer.byteLength(before.slice(lineStart)) + 1;
  return new AlmanacError('invalid_syntax', `${line}:${column}: parse error: ${text}`);
}

/** Longest query that is read, in UTF-16 units. */
const LENGTH_MAX = 1 << 20;
/** Deepest nesting of parentheses and brackets, and most operators: recursion over the expression follows both. */
const DEPTH_MAX = 256;
const OPERATORS_MAX = 2_000;

/** @throws `invalid_syntax` for a query that is too long to be cut into tokens. */
export function checkLength(query: string): void {
  if (query.length <= LENGTH_MAX) return;
  throw parseError(query, 0, `query has ${query.length} characters, more than ${LENGTH_MAX}`);
}

/** Refuses what recursion would not survive. @throws `invalid_syntax`. */
export function checkNesting(query: string, tokens: readonly PromToken[]): void {
  let depth = 0;
  let operators = 0;
  for (const { kind, text, start } of tokens) {
    if (kind === 'operator' && ++operators > OPERATORS_MAX) {
      throw parseError(query, start, `query has more than ${OPERATORS_MAX} operators`);
    }
    if (kind !== 'punctuation') continue;
    if (text === '(' || text === '[') depth++;
    else if (text === ')' || text === ']') depth--;
    if (depth > DEPTH_MAX) throw parseError(query, start, `query is nested deeper than ${DEPTH_MAX}`);
  }
}
