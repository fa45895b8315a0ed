import { AlmanacError } from '#shared/errors/almanac-error';

/**
 * Returns a parse error in the format of Prometheus: `line:col: parse error: text`, both from 1, columns in bytes.
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

/** Longest query, in UTF-16 units. */
const LENGTH_MAX = 1 << 20;
/** Limits of nesting and of operators, because both determine the depth of recursion over the expression. */
const DEPTH_MAX = 256;
const OPERATORS_MAX = 2_000;

/** @throws `invalid_syntax` for a query that is too long. */
export function checkLength(query: string): void {
  if (query.length <= LENGTH_MAX) return;
  throw parseError(query, 0, `query has ${query.length} characters, more than ${LENGTH_MAX}`);
}

/** @throws `invalid_syntax` for a query whose nesting would overflow the stack. */
export function checkNesting(query: string, tokens: readonly TokenText[]): void {
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

interface TokenText {
  readonly kind: string;
  readonly text: string;
  readonly start: number;
}
