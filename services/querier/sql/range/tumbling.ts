import { quoteName } from '#shared/duckdb/quote';

import { Kind, type Tokens } from '../syntax/lex.js';
import type { QueryText } from '../syntax/query-text.js';
import type { RangeInput } from './input.js';
import type { ItemPart, RangeCall, RangeItem } from './items.js';
import type { RangeKey } from './keys.js';
import { timeRef } from './print.js';
import { columnPath, isLiteral, isName, keyOf } from './spans.js';

/** A range query whose ranges are as long as its slots, which begin at 1970-01-01, without FILL: each row belongs to one slot. */
export interface TumblingRange {
  readonly input: RangeInput;
  readonly whereSql: string | undefined;
  readonly alignMs: number;
  readonly keys: readonly RangeKey[];
  readonly items: readonly (RangeItem & { readonly name: string })[];
  /** ORDER BY, LIMIT and OFFSET. */
  readonly tail: QueryText;
  /** Prints an aggregate. */
  readonly callSql: (call: RangeCall) => string;
}

/**
 * Prints a range query as an aggregation by time buckets, which kernels run; undefined if its items or its order are more than
 * the time index, keys, and expressions over aggregates.
 */
export function printTumbling(range: TumblingRange): string | undefined {
  const { input, whereSql, alignMs, keys, items, tail } = range;
  const { tokens } = tail;
  if (input.primaryKey === undefined || !isOrderOf(tail, new Set(items.map(({ name }) => name)))) return undefined;
  // `GROUP BY (1)` is a position.
  if (keys.some(({ span }) => span !== undefined && columnPath(span) === undefined)) return undefined;
  const bucket = `date_bin(INTERVAL '${alignMs} milliseconds', ${timeRef(input)})`;
  const groups = new Map<string, string>([[bucket, bucket], ...keys.map(({ sql }): [string, string] => [sql, sql])]);
  const printed: string[] = [];
  for (const [i, { parts, name }] of items.entries()) {
    const group = groupOf(parts, tokens, range) ?? (isTimeIndex(parts, tokens, input) ? bucket : undefined);
    const sql = group ?? aggregateSql(parts, tokens, range.callSql);
    if (sql === undefined) return undefined;
    // Positions, because an expression with other parameters is another one.
    if (group !== undefined) groups.set(group, String(i + 1));
    printed.push(`${sql} AS ${quoteName(name)}`);
  }
  const where = whereSql === undefined ? '' : ` WHERE (${whereSql})`;
  const rest = Array.from({ length: tail.to - tail.from }, (_, i) => tokens.raw(tail.from + i)).join(' ');
  return `SELECT ${printed.join(', ')} FROM ${input.sql}${where} GROUP BY ${[...groups.values()].join(', ')} ${rest}`;
}

/** Returns the key that an item is. */
function groupOf(parts: readonly ItemPart[], tokens: Tokens, { keys, input }: TumblingRange): string | undefined {
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

/** Functions over aggregates that kernels compute. An aggregate without RANGE must stay an error. */
const SCALARS = new Set(['round', 'abs', 'floor', 'ceil', 'coalesce']);

/** Prints an expression over aggregates; undefined if it has a column outside of these. */
function aggregateSql(
  parts: readonly ItemPart[],
  tokens: Tokens,
  callSql: (call: RangeCall) => string,
): string | undefined {
  const printed = parts.map((part) => {
    if (part.kind === 'call') return callSql(part.call);
    const { i } = part;
    const isScalar = tokens.isSymbol(i + 1, '(') && SCALARS.has(tokens.raw(i).toLowerCase());
    return !isName(tokens, i) || isScalar ? tokens.raw(i) : undefined;
  });
  return printed.includes(undefined) ? undefined : printed.join(' ');
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
