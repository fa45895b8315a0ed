import { AlmanacError } from '#shared/errors/almanac-error';

import { type Tokens } from '../syntax/lex.js';
import type { QueryText } from '../syntax/query-text.js';
import { inside } from './constants.js';
import { durationSpan, fillSpan } from './range-select.js';
import {
  afterGroup,
  endsOperand,
  findOutside,
  groupStart,
  invalidRange,
  isDurationWord,
  isName,
  splitAtCommas,
  spanText,
} from './spans.js';

/** One aggregate with its RANGE, as written. */
export interface RangeCall {
  /** In lower case unless quoted. */
  readonly functionName: string;
  readonly args: readonly QueryText[];
  readonly isDistinct: boolean;
  readonly order: readonly QueryText[];
  /** From the name of the function to the end of the call. */
  readonly span: QueryText;
  readonly range: QueryText;
  readonly fill: QueryText | undefined;
}

/** One part of an item: a token, or a range expression in place of its tokens. */
export type ItemPart =
  | { readonly kind: 'token'; readonly i: number }
  | { readonly kind: 'call'; readonly call: RangeCall; readonly first: number };

/** An item of the select list. */
export interface RangeItem {
  readonly parts: readonly ItemPart[];
  readonly alias: string | undefined;
}

/** Words before a parenthesis that are no functions. */
const NO_FUNCTIONS = new Set(
  'CAST TRY_CAST AND OR NOT IN CASE WHEN THEN ELSE IS LIKE ILIKE BETWEEN INTERVAL'.split(' '),
);

/** Parses an item of a range query. @throws `invalid_syntax`, `plan_query`, `unsupported`. */
export function parseItem(span: QueryText): RangeItem {
  const { tokens } = span;
  const parts: ItemPart[] = [];
  for (let i = span.from; i < span.to;) {
    if (tokens.isWord(i, 'OVER') && tokens.isSymbol(i + 1, '(')) {
      throw invalidRange('Range Query: Window functions is not allowed in Range Query');
    }
    if (isFill(tokens, i, span)) {
      throw invalidRange('Detect FILL keyword in SELECT Expr, but no RANGE given or RANGE after FILL');
    }
    if (!isDurationWord(tokens, i, 'RANGE')) {
      parts.push({ kind: 'token', i: i++ });
      continue;
    }
    i = replaceOperand(parts, { ...span, from: i });
  }
  return withoutAlias(tokens, parts);
}

/** FILL as a postfix: after an operand and before a value, or in `FILL AS`, it would be a name. */
function isFill(tokens: Tokens, i: number, { from, to }: QueryText): boolean {
  return tokens.isWord(i, 'FILL') && i > from && i + 1 < to && tokens.isSymbol(i - 1, ')') && isOneValue(tokens, i + 1);
}

function isOneValue(tokens: Tokens, i: number): boolean {
  return !tokens.isWord(i, 'AS') && (isName(tokens, i) || endsOperand(tokens, i)) && !tokens.isSymbol(i, ')');
}

/** Replaces the operand before RANGE; returns the index after RANGE and FILL. */
function replaceOperand(parts: ItemPart[], { tokens, from, to }: QueryText): number {
  const range = durationSpan(tokens, from + 1, to);
  const fill = tokens.isWord(range.to, 'FILL') && range.to < to ? fillSpan(tokens, range.to + 1, to) : undefined;
  const end = fill?.to ?? range.to;
  if (end < to && (isDurationWord(tokens, end, 'RANGE') || tokens.isWord(end, 'FILL'))) {
    const word = tokens.raw(end).toUpperCase();
    throw invalidRange(`Duplicate ${word} keyword detected in SELECT clause.`);
  }
  const operand = popOperand(tokens, parts);
  let calls = 0;
  for (let at = 0; at < operand.length; at++) {
    const part = operand[at];
    if (part.kind === 'call') throw invalidRange('Range Query: Nest Range Query is not allowed');
    const call = callAt({ tokens, from: part.i, to: from });
    if (call === undefined) {
      parts.push(part);
      continue;
    }
    const length = call.span.to - call.span.from;
    // Range expressions inside of the call take one part for several tokens.
    if (operand.slice(at, at + length).some(({ kind }) => kind === 'call')) {
      throw invalidRange('Range Query: Nest Range Query is not allowed');
    }
    parts.push({ kind: 'call', call: { ...call, range, fill }, first: part.i });
    calls++;
    at += length - 1;
  }
  if (calls === 0) {
    const text = operand.map((part) => (part.kind === 'token' ? tokens.raw(part.i) : '')).join('');
    throw invalidRange(`Can't use the RANGE keyword in Expr ${text.slice(0, 100)} without function`);
  }
  return end;
}

/** Removes the last operand of the parts: a call, an expression in parentheses, or one token. */
function popOperand(tokens: Tokens, parts: ItemPart[]): ItemPart[] {
  const last = parts.at(-1);
  if (last?.kind !== 'token') throw invalidRange('Range Query: Nest Range Query is not allowed');
  if (!tokens.isSymbol(last.i, ')')) return parts.splice(-1);
  let begin = groupStart(tokens, last.i, parts[0].kind === 'token' ? parts[0].i : parts[0].first);
  if (tokens.isWord(begin - 1, 'GROUP') && tokens.isWord(begin - 2, 'WITHIN')) {
    begin = groupStart(tokens, begin - 3, 0);
  }
  if (tokens.isWord(begin - 1, 'FILTER')) throw filterUnsupported();
  if (tokens.isWord(begin - 1, 'OVER')) {
    throw invalidRange('Range Query: Window functions is not allowed in Range Query');
  }
  if (isFunction(tokens, begin - 1) || isCast(tokens, begin - 1)) begin--;
  const at = parts.findIndex((part) => (part.kind === 'token' ? part.i : part.first) >= begin);
  return parts.splice(at);
}

function filterUnsupported(): AlmanacError {
  return new AlmanacError('unsupported', 'Not supported: FILTER in a range expression');
}

function isCast(tokens: Tokens, i: number): boolean {
  return tokens.isWord(i, 'CAST') || tokens.isWord(i, 'TRY_CAST');
}

function isFunction(tokens: Tokens, i: number): boolean {
  return isName(tokens, i) && endsOperand(tokens, i) && !NO_FUNCTIONS.has(tokens.raw(i).toUpperCase());
}

/** Returns the function call that begins at a token. */
function callAt({ tokens, from, to }: QueryText): Omit<RangeCall, 'range' | 'fill'> | undefined {
  if (!isFunction(tokens, from) || !tokens.isSymbol(from + 1, '(')) return undefined;
  let end = afterGroup(tokens, from + 1, to);
  const isDistinct = tokens.isWord(from + 2, 'DISTINCT');
  const inner: QueryText = { tokens, from: from + (isDistinct ? 3 : 2), to: end - 1 };
  const isOrder = (i: number): boolean => tokens.isWord(i, 'ORDER') && tokens.isWord(i + 1, 'BY');
  const orderAt = findOutside(inner, isOrder);
  if (end < to && tokens.isWord(end, 'FILTER')) throw filterUnsupported();
  if (end + 2 < to && tokens.isWord(end, 'WITHIN')) end = afterGroup(tokens, end + 2, to);
  return {
    functionName: tokens.name(from),
    args: splitAtCommas({ ...inner, to: orderAt }),
    isDistinct,
    order: splitAtCommas({ ...inner, from: Math.min(orderAt + 2, inner.to) }),
    span: { tokens, from, to: end },
  };
}

function withoutAlias(tokens: Tokens, parts: ItemPart[]): RangeItem {
  const last = parts.at(-1);
  const before = parts.at(-2);
  if (last?.kind !== 'token' || before === undefined || !isName(tokens, last.i)) return { parts, alias: undefined };
  const alias = tokens.name(last.i);
  if (before.kind === 'token' && tokens.isWord(before.i, 'AS')) return { parts: parts.slice(0, -2), alias };
  const isImplicit = before.kind === 'call' || (endsOperand(tokens, before.i) && !tokens.isWord(last.i, 'END'));
  return isImplicit ? { parts: parts.slice(0, -1), alias } : { parts, alias: undefined };
}

/** Returns the name of a column for tokens and range expressions, with one space where the text has white space. */
export function nameOf(tokens: Tokens, parts: readonly ItemPart[], qualified: (i: number) => string): string {
  let name = '';
  let end: number | undefined;
  for (const part of parts) {
    const from = part.kind === 'token' ? part.i : part.first;
    if (end !== undefined && tokens.start(from) > end) name += ' ';
    name += part.kind === 'token' ? qualified(from) : callName(part.call, qualified);
    end = part.kind === 'token' ? tokens.end(from) : tokens.end((part.call.fill ?? part.call.range).to - 1);
  }
  return name.slice(0, 400);
}

function callName(call: RangeCall, qualified: (i: number) => string): string {
  const print = ({ tokens, from, to }: QueryText): string =>
    nameOf(
      tokens,
      Array.from({ length: to - from }, (_, i) => ({ kind: 'token' as const, i: from + i })),
      qualified,
    );
  const args = `${call.isDistinct ? 'DISTINCT ' : ''}${call.args.map(print).join(', ')}`;
  const order = call.order.map((key) => sortKey(key, print));
  const sorted = order.length === 0 ? '' : ` ORDER BY [${order.join(', ')}]`;
  const fill = call.fill === undefined ? '' : ` FILL ${spanText(call.fill)}`;
  return `${call.functionName}(${args})${sorted} RANGE ${inside(call.range)}${fill}`;
}

/** Prints a key of ORDER BY with direction and place of nulls, which are first in descending order by default. */
export function sortKey(key: QueryText, print: (span: QueryText) => string): string {
  const { tokens } = key;
  let { to } = key;
  let nulls: string | undefined;
  if (tokens.isWord(to - 2, 'NULLS')) {
    nulls = tokens.raw(to - 1).toUpperCase();
    to -= 2;
  }
  const isDescending = tokens.isWord(to - 1, 'DESC');
  if (isDescending || tokens.isWord(to - 1, 'ASC')) to--;
  const direction = isDescending ? 'DESC' : 'ASC';
  return `${print({ ...key, to })} ${direction} NULLS ${nulls ?? (isDescending ? 'FIRST' : 'LAST')}`;
}
