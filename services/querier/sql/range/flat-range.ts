import { quoteName } from '#shared/duckdb/quote';

import type { AggregateRange, RangeFill } from '../../kernels/query.js';
import { Kind, lexSql, type Tokens } from '../syntax/lex.js';
import type { QueryText } from '../syntax/query-text.js';
import type { RangeInput } from './input.js';
import type { ItemPart, RangeCall, RangeItem } from './items.js';
import type { RangeKey } from './keys.js';
import { timeRef, type Fill, type RangeColumn } from './print.js';
import { columnPath, isLiteral, isName, keyOf } from './spans.js';

/** Durations of a range query in milliseconds. Slots begin at `originMs + n * alignMs`. */
export interface RangeDurations {
  readonly alignMs: number;
  readonly originMs: number;
  /** Of each range expression, by its number. */
  readonly rangesMs: readonly number[];
  /** Whether FILL adds the slots between the first and the last one of each series. */
  readonly isFilled: boolean;
}

/** A range query as a query for kernels, which combine time buckets to slots; its text does not depend on the durations. */
export interface FlatRange {
  readonly query: QueryText;
  readonly durations: RangeDurations;
}

/** A range query whose clauses have been read. */
export interface ParsedRange {
  readonly input: RangeInput;
  readonly whereSql: string | undefined;
  readonly keys: readonly RangeKey[];
  readonly items: readonly (RangeItem & { readonly name: string })[];
  /** ORDER BY, LIMIT and OFFSET. */
  readonly tail: QueryText;
  /** Returns the range expression of a call, and its number. */
  readonly columnOf: (call: RangeCall) => { readonly column: RangeColumn; readonly number: number };
}

/** The time bucket of a flat query; kernels replace it by the one that the durations need. */
const BUCKET = "date_bin(INTERVAL '1 second', ";
const MARKER = '__range';
const MARKED = /^__range(\d+)(prev|linear)?$/;

/** Returns the number and the FILL of the range expression that a function of a flat query marks. */
export function rangeMark(functionName: string): AggregateRange | undefined {
  const match = MARKED.exec(functionName);
  return match === null ? undefined : { number: Number(match[1]), fill: match[2] as RangeFill | undefined };
}

/**
 * Prints a range query as an aggregation by time buckets, in which functions mark range expressions. Returns a text if its
 * items or its order are more than the time index, keys, and expressions over aggregates: why kernels cannot run it.
 */
export function printFlat(range: ParsedRange): QueryText | string {
  const { input, whereSql, keys, items, tail } = range;
  const { tokens } = tail;
  if (input.primaryKey === undefined) return 'the range query does not read one table';
  if (!isOrderOf(tail, new Set(items.map(({ name }) => name)))) return 'the range query sorts by more than its columns';
  // `GROUP BY (1)` is a position.
  if (keys.some(({ span }) => span !== undefined && columnPath(span) === undefined)) return 'BY has more than columns';
  const bucket = `${BUCKET}${timeRef(input)})`;
  const groups = new Map<string, string>([[bucket, bucket], ...keys.map(({ sql }): [string, string] => [sql, sql])]);
  const printed: string[] = [];
  for (const [i, { parts, name }] of items.entries()) {
    const group = groupOf(parts, tokens, range) ?? (isTimeIndex(parts, tokens, input) ? bucket : undefined);
    const sql = group ?? aggregateSql(parts, tokens, range);
    if (sql === undefined) return `${name} is neither a key nor an expression over aggregates`;
    // Positions, because an expression with other parameters is another one.
    if (group !== undefined) groups.set(group, String(i + 1));
    printed.push(`${sql} AS ${quoteName(name)}`);
  }
  const where = whereSql === undefined ? '' : ` WHERE (${whereSql})`;
  const rest = Array.from({ length: tail.to - tail.from }, (_, i) => tokens.raw(tail.from + i)).join(' ');
  const text = `SELECT ${printed.join(', ')} FROM ${input.sql}${where} GROUP BY ${[...groups.values()].join(', ')} ${rest}`;
  const flat = lexSql(text);
  return { tokens: flat, from: 0, to: flat.count };
}

/** Returns the key that an item is. */
function groupOf(parts: readonly ItemPart[], tokens: Tokens, { keys, input }: ParsedRange): string | undefined {
  const span = tokenSpan(parts, tokens);
  if (span === undefined) return undefined;
  const path = columnPath(span);
  const key = keys.find((it) => {
    if (it.span !== undefined) return keyOf(it.span) === keyOf(span);
    return path?.at(-1) === it.name && (path.length === 1 || path[0] === input.alias);
  });
  return key?.sql;
}

function isTimeIndex(parts: readonly ItemPart[], tokens: Tokens, { timeIndex, alias }: RangeInput): boolean {
  const span = tokenSpan(parts, tokens);
  const path = span && columnPath(span);
  return path?.at(-1) === timeIndex.name && (path.length === 1 || path[0] === alias);
}

function tokenSpan(parts: readonly ItemPart[], tokens: Tokens): QueryText | undefined {
  const at = parts.flatMap((part) => (part.kind === 'token' ? part.i : []));
  return at.length === parts.length && at.length > 0 ? { tokens, from: at[0], to: at[at.length - 1] + 1 } : undefined;
}

/** Functions over aggregates that kernels compute. */
const SCALARS = new Set(['round', 'abs', 'floor', 'ceil', 'coalesce']);

/** Prints an expression over aggregates; undefined if it has a column outside of these. */
function aggregateSql(parts: readonly ItemPart[], tokens: Tokens, { columnOf }: ParsedRange): string | undefined {
  const printed = parts.map((part) => {
    if (part.kind === 'call') {
      const { column, number } = columnOf(part.call);
      return markedSql(column, number);
    }
    const { i } = part;
    const isScalar = tokens.isSymbol(i + 1, '(') && SCALARS.has(tokens.raw(i).toLowerCase());
    return !isName(tokens, i) || isScalar || isOfCast(tokens, i) ? tokens.raw(i) : undefined;
  });
  return printed.includes(undefined) ? undefined : printed.join(' ');
}

/** Reports whether a word is a part of `x::DOUBLE` or `CAST(x AS DOUBLE)`. */
function isOfCast(tokens: Tokens, i: number): boolean {
  if (tokens.isWord(i, 'CAST')) return tokens.isSymbol(i + 1, '(');
  const type = tokens.isWord(i, 'AS') ? i + 1 : i;
  const isCast = tokens.isSymbol(type - 1, '::') || (tokens.isWord(type - 1, 'AS') && tokens.isSymbol(type + 1, ')'));
  return isCast && tokens.isWord(type, 'DOUBLE');
}

function markedSql({ sql, fill }: RangeColumn, number: number): string {
  const marked = `${MARKER}${number}${fillMark(fill)}(${sql})`;
  return fill?.kind === 'constant' ? `coalesce(${marked}, ${fill.sql})` : marked;
}

function fillMark(fill: Fill | undefined): RangeFill | '' {
  return fill?.kind === 'prev' || fill?.kind === 'linear' ? fill.kind : '';
}

const ORDER_WORDS = new Set('ORDER BY ASC DESC NULLS FIRST LAST LIMIT OFFSET'.split(' '));

/** Reports whether ORDER BY, LIMIT and OFFSET have only names of the result and literals. */
function isOrderOf({ tokens, from, to }: QueryText, names: ReadonlySet<string>): boolean {
  for (let i = from; i < to; i++) {
    if (tokens.isSymbol(i, ',') || isLiteral(tokens, i)) continue;
    const isWord = tokens.kind(i) === Kind.word && ORDER_WORDS.has(tokens.raw(i).toUpperCase());
    if (!isWord && !(isName(tokens, i) && names.has(tokens.name(i)))) return false;
  }
  return true;
}
