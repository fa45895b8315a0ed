import { Kind, type Tokens } from '../syntax/lex.js';
import type { QueryText } from '../syntax/query-text.js';
import { afterGroup, findOutside, invalidRange, isDurationWord, isName, splitAtCommas, spanText } from './spans.js';

/** A SELECT with RANGE or ALIGN, by its clauses as written. */
export interface RangeSelect {
  /** From SELECT to the end of its last clause. */
  readonly span: QueryText;
  /** DISTINCT with its expressions, or empty. */
  readonly distinct: string;
  readonly items: readonly QueryText[];
  readonly input: QueryText;
  readonly where: QueryText | undefined;
  /** A text, or an expression in parentheses. */
  readonly align: QueryText;
  readonly origin: QueryText | undefined;
  readonly by: readonly QueryText[] | undefined;
  readonly fill: QueryText | undefined;
  /** ORDER BY, LIMIT and OFFSET. */
  readonly tail: QueryText;
}

const SET_OPERATIONS = ['UNION', 'INTERSECT', 'EXCEPT'];
const AFTER_INPUT = ['WHERE', 'FILL', 'ORDER', 'LIMIT', 'OFFSET', 'GROUP', 'HAVING', 'QUALIFY', 'WINDOW'];

/** Finds a SELECT with RANGE or ALIGN that contains no other one; undefined if there is none. */
export function findRangeSelect({ tokens, from, to }: QueryText): QueryText | undefined {
  let last: number | undefined;
  for (let i = from; i < to; i++) {
    if (!isDurationWord(tokens, i, 'RANGE') && !isDurationWord(tokens, i, 'ALIGN')) continue;
    const select = ownSelect(tokens, i, from);
    // A subquery begins after the query that contains it.
    if (select !== undefined && (last === undefined || select > last)) last = select;
  }
  if (last === undefined) return undefined;
  const isEnd = (i: number): boolean => SET_OPERATIONS.some((word) => tokens.isWord(i, word));
  return { tokens, from: last, to: findOutside({ tokens, from: last + 1, to }, isEnd) };
}

/** Returns the SELECT that a token belongs to. */
function ownSelect(tokens: Tokens, token: number, from: number): number | undefined {
  let depth = 0;
  for (let i = token - 1; i >= from; i--) {
    if (tokens.isSymbol(i, ')')) depth++;
    else if (tokens.isSymbol(i, '(')) depth = Math.max(depth - 1, 0);
    else if (depth === 0 && tokens.isWord(i, 'SELECT')) return i;
  }
  return undefined;
}

/** Splits a range query into its clauses. @throws `invalid_syntax`. */
export function parseRangeSelect(span: QueryText): RangeSelect {
  const { tokens, to } = span;
  const begin = distinctEnd(tokens, span.from + 1, to);
  const from = findOutside({ tokens, from: begin, to }, (i) => tokens.isWord(i, 'FROM'));
  const items = splitAtCommas({ tokens, from: begin, to: from });
  if (from >= to) throw invalidRange('a range query needs FROM');
  const input = clause({ tokens, from: from + 1, to });
  const where = tokens.isWord(input.to, 'WHERE') ? clause({ tokens, from: input.to + 1, to }) : undefined;
  const clauses = new AlignClauses({ tokens, from: where?.to ?? input.to, to });
  const { align, origin, by, fill } = clauses;
  if (align === undefined) throw invalidRange('ALIGN argument cannot be omitted in the range select query');
  const distinct = spanText({ tokens, from: span.from + 1, to: begin });
  const tail = { tokens, from: clauses.end, to };
  return { span, distinct, items, input, where, align, origin, by, fill, tail };
}

function distinctEnd(tokens: Tokens, at: number, to: number): number {
  if (tokens.isWord(at, 'ALL')) return at + 1;
  if (!tokens.isWord(at, 'DISTINCT')) return at;
  return tokens.isWord(at + 1, 'ON') && at + 2 < to ? afterGroup(tokens, at + 2, to) : at + 1;
}

/** Returns the span up to the next clause. */
function clause(span: QueryText): QueryText {
  const { tokens } = span;
  const isNext = (i: number): boolean =>
    isDurationWord(tokens, i, 'ALIGN') || AFTER_INPUT.some((word) => tokens.isWord(i, word));
  return { ...span, to: findOutside(span, isNext) };
}

/** Reads ALIGN, TO, BY and FILL in any order. */
class AlignClauses {
  align: QueryText | undefined;
  origin: QueryText | undefined;
  by: readonly QueryText[] | undefined;
  fill: QueryText | undefined;
  end: number;

  constructor({ tokens, from, to }: QueryText) {
    this.end = from;
    while (this.end < to && this.#read(tokens, to));
  }

  /** Reads one clause; returns whether there was one. */
  #read(tokens: Tokens, to: number): boolean {
    const word = tokens.raw(this.end).toUpperCase();
    const value = this.end + 1;
    switch (word) {
      case 'ALIGN':
        this.align = once('ALIGN', this.align, durationSpan(tokens, value, to));
        this.end = this.align.to;
        return true;
      case 'TO':
        this.origin = once('TO', this.origin, durationSpan(tokens, value, to));
        this.end = this.origin.to;
        return true;
      case 'BY': {
        if (!tokens.isSymbol(value, '(')) throw invalidRange('sql parser error: Expected: (, after BY');
        this.end = afterGroup(tokens, value, to);
        this.by = once('BY', this.by, splitAtCommas({ tokens, from: value + 1, to: this.end - 1 }));
        return true;
      }
      case 'FILL':
        this.fill = once('FILL', this.fill, fillSpan(tokens, value, to));
        this.end = this.fill.to;
        return true;
      case 'ORDER':
      case 'LIMIT':
      case 'OFFSET':
        return false;
      default:
        if (word === 'WHERE') throw invalidRange('sql parser error: WHERE must come before ALIGN, TO, BY and FILL');
        throw invalidRange(`sql parser error: unexpected ${word.slice(0, 50)} in a range query`);
    }
  }
}

function once<T>(word: string, before: T | undefined, value: T): T {
  if (before !== undefined) throw invalidRange(`Duplicate ${word} keyword detected in SELECT clause.`);
  return value;
}

/** Returns the text or the parenthesised expression at a token. */
export function durationSpan(tokens: Tokens, from: number, to: number): QueryText {
  if (from >= to) throw invalidRange('sql parser error: Expected: a duration, found: EOF');
  return { tokens, from, to: afterGroup(tokens, from, to) };
}

/** Returns the value of FILL: one token, or a sign and a number. */
export function fillSpan(tokens: Tokens, from: number, to: number): QueryText {
  const isSigned = tokens.isSymbol(from, '-') || tokens.isSymbol(from, '+');
  const end = from + (isSigned ? 2 : 1);
  if (end > to || (tokens.kind(from) === Kind.symbol && !isSigned)) {
    throw invalidRange('sql parser error: FILL needs NULL, PREV, LINEAR or a constant');
  }
  return { tokens, from, to: end };
}

/** Returns whether the item selects all columns. */
export function isWildcard({ tokens, from, to }: QueryText): boolean {
  const last = to - 1;
  if (!tokens.isSymbol(last, '*')) return false;
  return last === from || (tokens.isSymbol(last - 1, '.') && isName(tokens, from));
}
