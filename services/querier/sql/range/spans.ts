import { AlmanacError } from '#shared/errors/almanac-error';

import { Kind, type Tokens } from '../syntax/lex.js';
import type { QueryText } from '../syntax/query-text.js';

/** Words after which an expression begins, so that a following RANGE or ALIGN is a name. */
const BEFORE_OPERANDS = new Set(
  (
    'SELECT FROM WHERE JOIN BY ON AND OR NOT AS WHEN THEN ELSE CASE IN UNION ALL DISTINCT LATERAL VALUES LIKE ILIKE IS ' +
    'BETWEEN HAVING INTERVAL TABLE LIMIT OFFSET EXCEPT INTERSECT OVER USING'
  ).split(' '),
);
const LITERALS: ReadonlySet<number> = new Set([Kind.text, Kind.escapeText, Kind.integer, Kind.decimal, Kind.binary]);

/** Returns whether the token is a literal. */
export function isLiteral(tokens: Tokens, i: number): boolean {
  return LITERALS.has(tokens.kind(i));
}

/** Returns whether the token is an identifier or a keyword. */
export function isName(tokens: Tokens, i: number): boolean {
  return tokens.kind(i) === Kind.word || tokens.kind(i) === Kind.quoted;
}

/** Returns whether an expression can end with the token. */
export function endsOperand(tokens: Tokens, i: number): boolean {
  if (tokens.kind(i) === Kind.word) return !BEFORE_OPERANDS.has(tokens.raw(i).toUpperCase());
  return tokens.kind(i) === Kind.quoted || isLiteral(tokens, i) || isClosing(tokens, i);
}

/** Returns whether the token is RANGE or ALIGN with a duration after it, and not a name or the frame of a window. */
export function isDurationWord(tokens: Tokens, i: number, word: 'RANGE' | 'ALIGN'): boolean {
  if (!tokens.isWord(i, word) || i === 0 || !endsOperand(tokens, i - 1)) return false;
  if (tokens.isSymbol(i + 1, '(')) return word === 'ALIGN' || isClosing(tokens, i - 1);
  const isFrame = tokens.isWord(i + 2, 'PRECEDING') || tokens.isWord(i + 2, 'FOLLOWING');
  return tokens.kind(i + 1) === Kind.text && !isFrame;
}

function isOpening(tokens: Tokens, i: number): boolean {
  return tokens.isSymbol(i, '(') || tokens.isSymbol(i, '[') || tokens.isSymbol(i, '{');
}

function isClosing(tokens: Tokens, i: number): boolean {
  return tokens.isSymbol(i, ')') || tokens.isSymbol(i, ']') || tokens.isSymbol(i, '}');
}

/** Returns the index after the bracket that closes the one at `i`, or the next index for any other token. */
export function afterGroup(tokens: Tokens, i: number, to: number): number {
  let depth = 0;
  for (let at = i; at < to; at++) {
    if (isOpening(tokens, at)) depth++;
    else if (isClosing(tokens, at)) depth--;
    if (depth <= 0) return at + 1;
  }
  throw new AlmanacError('invalid_syntax', 'Invalid SQL syntax: sql parser error: unclosed parenthesis');
}

/** Returns the index of the bracket that the one at `i` closes. */
export function groupStart(tokens: Tokens, i: number, from: number): number {
  let depth = 0;
  for (let at = i; at >= from; at--) {
    if (isClosing(tokens, at)) depth++;
    else if (isOpening(tokens, at)) depth--;
    if (depth === 0) return at;
  }
  return from;
}

/** Returns the first token outside of brackets that satisfies the condition, or `to`. */
export function findOutside({ tokens, from, to }: QueryText, isWanted: (i: number) => boolean): number {
  for (let at = from; at < to; at = afterGroup(tokens, at, to)) {
    if (isClosing(tokens, at) || isWanted(at)) return at;
  }
  return to;
}

/** Splits at the commas outside of brackets; an empty span has no parts. */
export function splitAtCommas(span: QueryText): QueryText[] {
  const { tokens, to } = span;
  const parts: QueryText[] = [];
  let from = span.from;
  while (from < to) {
    const end = findOutside({ tokens, from, to }, (i) => tokens.isSymbol(i, ','));
    parts.push({ tokens, from, to: end });
    from = end + 1;
  }
  return parts;
}

/** Returns the span as written. */
export function spanText({ tokens, from, to }: QueryText): string {
  return from >= to ? '' : tokens.source.slice(tokens.start(from), tokens.end(to - 1));
}

/** Returns a text that is equal for spans with the same tokens. */
export function keyOf({ tokens, from, to }: QueryText): string {
  const parts: string[] = [];
  for (let i = from; i < to; i++) parts.push(isName(tokens, i) ? tokens.name(i) : tokens.raw(i));
  return parts.join('\0');
}

/** Returns the parts of a column name, `table.column`; undefined for any other expression. */
export function columnPath({ tokens, from, to }: QueryText): string[] | undefined {
  if ((to - from) % 2 !== 1) return undefined;
  const parts: string[] = [];
  for (let i = from; i < to; i++) {
    const isPart = (i - from) % 2 === 0 ? isName(tokens, i) : tokens.isSymbol(i, '.');
    if (!isPart) return undefined;
    if ((i - from) % 2 === 0) parts.push(tokens.name(i));
  }
  return parts;
}

/** Creates the error for invalid syntax of a range query. */
export function invalidRange(reason: string): AlmanacError {
  return new AlmanacError('invalid_syntax', `Invalid SQL syntax: ${reason}`);
}

/** Creates the error for a range query that cannot be planned. */
export function unplannedRange(reason: string): AlmanacError {
  return new AlmanacError('plan_query', `Error during planning: ${reason}`);
}
