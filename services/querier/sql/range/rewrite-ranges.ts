import { quoteName } from '#shared/duckdb/quote';
import { dataType } from '#shared/schema/data-type';

import { isName, keyOf, columnPath, invalidRange, isDurationWord, spanText, unplannedRange } from './spans.js';
import { AlmanacError } from '#shared/errors/almanac-error';
import { Kind, lexSql, type Tokens } from '../syntax/lex.js';
import type { QueryText } from '../syntax/query-text.js';
import { durationOf, originOf, type ConstantContext } from './constants.js';
import { readInput, type FindTable, type RangeInput } from './input.js';
import { nameOf, parseItem, sortKey, type RangeCall, type ItemPart, type RangeItem } from './items.js';
import { seriesKeysOf, OuterSql, type RangeKey } from './keys.js';
import { printRange, type Fill, type RangeColumn } from './print.js';
import { printFlat, type FlatRange, type ParsedRange } from './flat-range.js';
import { findRangeSelect, isWildcard, parseRangeSelect, type RangeSelect } from './range-select.js';

/** Most range queries in one statement: each is planned by itself. */
const RANGE_SELECTS_MAX = 16;
/** Most slots that one row belongs to: the input is multiplied by it. */
const SLOTS_PER_ROW_MAX = 10_000;

/** What a range query is rewritten with. */
export interface RangeQueryContext extends ConstantContext {
  readonly find: FindTable;
}

/** A statement whose range queries are replaced. */
export interface RewrittenRanges {
  readonly query: QueryText;
  /** The same for kernels, or why they cannot run it; undefined if there is no range query. */
  readonly flat: FlatRange | string | undefined;
}

/**
 * Replaces range queries (SELECT with RANGE and ALIGN) by ordinary SQL. Returns the same query if there is none.
 *
 * @throws `invalid_syntax`, `plan_query`, `unsupported`, `table_not_found`.
 */
export async function rewriteRanges(query: QueryText, context: RangeQueryContext): Promise<RewrittenRanges> {
  let rewritten = query;
  let flat: RewrittenRanges['flat'];
  for (let count = 0; ; count++) {
    const span = findRangeSelect(rewritten);
    if (span === undefined) return { query: rewritten, flat };
    if (count === RANGE_SELECTS_MAX) {
      throw unplannedRange(`the statement has more than ${RANGE_SELECTS_MAX} range queries`);
    }
    const { tokens, from, to } = rewritten;
    const before = spanText({ tokens, from, to: span.from });
    const after = spanText({ tokens, from: span.to, to });
    const select = await new RangeRewriter(parseRangeSelect(span), context).rewrite();
    const isWhole = span.from === from && span.to === to && count === 0;
    flat = isWhole ? select.flat : 'the range query is a part of another one';
    const { sql } = select;
    const inlined = lexSql(`${before} ${sql}\n${after}`);
    rewritten = { tokens: inlined, from: 0, to: inlined.count };
  }
}

/** Returns whether a query has a range query. */
export function hasRanges({ tokens, from, to }: QueryText): boolean {
  for (let i = from; i < to; i++) {
    if (isDurationWord(tokens, i, 'RANGE') || isDurationWord(tokens, i, 'ALIGN')) return true;
  }
  return false;
}

class RangeRewriter {
  readonly #select: RangeSelect;
  readonly #context: RangeQueryContext;
  readonly #columns = new Map<string, RangeColumn>();

  constructor(select: RangeSelect, context: RangeQueryContext) {
    this.#select = select;
    this.#context = context;
  }

  async rewrite(): Promise<{ readonly sql: string; readonly flat: FlatRange | string }> {
    const { items, align, origin, where, distinct } = this.#select;
    if (items.some(isWildcard)) throw invalidRange('Wildcard `*` is not allowed in range select query');
    if (hasRanges(this.#select.tail)) {
      throw invalidRange(
        'ORDER BY takes columns of the result: name the range expression with AS, and sort by that name',
      );
    }
    const parsed = items.map(parseItem);
    if (parsed.some(({ parts }) => parts.length === 0)) {
      throw new AlmanacError(
        'invalid_syntax',
        'Invalid SQL syntax: sql parser error: Expected: an expression, found: ,',
      );
    }
    if (!parsed.some(({ parts }) => parts.some(({ kind }) => kind === 'call'))) {
      throw invalidRange('Illegal Range select, no RANGE keyword found in any SelectItem');
    }
    const alignMs = durationOf(align, this.#context);
    const originMs = originOf(origin, this.#context);
    const input = await readInput(this.#select.input, this.#context.find);
    const keys = seriesKeysOf(this.#select.by, input);
    const printed = parsed.map((item) => this.#item(item, input, keys));
    const columns = [...this.#columns.values()];
    checkSlots(columns, alignMs);
    const whereSql = where === undefined ? undefined : spanText(where);
    const relation = printRange({ input, whereSql, alignMs, originMs, keys, columns });
    const alias = input.alias === '' ? '__ranges' : input.alias;
    const sql = `SELECT ${distinct} ${printed.join(', ')} FROM (${relation}) AS ${quoteName(alias)}\n${this.#tail(keys)}`;
    const named = parsed.map((item) => ({ ...item, name: this.#nameOf(item, input) }));
    const { tail } = this.#select;
    const columnOf = (call: RangeCall): ReturnType<ParsedRange['columnOf']> => {
      const column = this.#column(call, input);
      return { column, number: columns.indexOf(column) };
    };
    const query = distinct === '' ? printFlat({ input, whereSql, keys, items: named, tail, columnOf }) : 'DISTINCT';
    if (typeof query === 'string') return { sql, flat: query };
    const rangesMs = columns.map(({ rangeMs }) => rangeMs);
    const isFilled = columns.some(({ fill }) => fill !== undefined);
    return { sql, flat: { query, durations: { alignMs, originMs, rangesMs, isFilled } } };
  }

  /** Prints ORDER BY, LIMIT and OFFSET. */
  #tail(keys: readonly RangeKey[]): string {
    const { tokens, from, to } = this.#select.tail;
    const parts = Array.from({ length: to - from }, (_, i) => ({ kind: 'token' as const, i: from + i }));
    return new OuterSql(tokens, keys).print(
      parts,
      () => '',
      () => undefined,
    );
  }

  #item(item: RangeItem, input: RangeInput, keys: readonly RangeKey[]): string {
    const { tokens } = this.#select.span;
    const sql = new OuterSql(tokens, keys).print(
      item.parts,
      (call) => this.#column(call, input).name,
      (i) => {
        this.#checkColumn(i, input, keys);
      },
    );
    return `${sql} AS ${quoteName(this.#nameOf(item, input))}`;
  }

  #nameOf({ parts, alias }: RangeItem, input: RangeInput): string {
    if (alias !== undefined) return alias;
    const { tokens } = this.#select.span;
    const path = columnPath(spanOf(parts, tokens));
    const isCall = parts.some(({ kind }) => kind === 'call');
    const name = isCall || path === undefined ? nameOf(tokens, parts, (i) => this.#qualified(i, input)) : path.at(-1);
    return name ?? '';
  }

  /** Only the time index and the keys are columns of the outer query. @throws `execute_query`. */
  #checkColumn(i: number, input: RangeInput, keys: readonly RangeKey[]): void {
    const { tokens } = this.#select.span;
    const name = isName(tokens, i) ? tokens.name(i) : '';
    if (tokens.isSymbol(i + 1, '.') || tokens.isSymbol(i + 1, '(')) return;
    const isKey = name === input.timeIndex.name || keys.some((key) => key.name === name);
    if (isKey || !input.columns.some((column) => column.name === name)) return;
    const fields = [input.timeIndex.name, ...keys.map((key) => key.name)].join(', ');
    throw new AlmanacError('execute_query', `No field named ${name}. Valid fields are ${fields}.`);
  }

  /** Prints a token of a name: columns with their table, everything else in lower case unless quoted. */
  #qualified(i: number, { alias, columns }: RangeInput): string {
    const { tokens } = this.#select.span;
    if (!isName(tokens, i)) return tokens.raw(i);
    const name = tokens.name(i);
    const isColumn = columns.some((column) => column.name === name);
    const isBare = !tokens.isSymbol(i - 1, '.') && !tokens.isSymbol(i + 1, '(') && !tokens.isSymbol(i + 1, '.');
    return isColumn && isBare && alias !== '' ? `${alias}.${name}` : name;
  }

  /** Returns the column of a range expression; equal ones share it. */
  #column(call: RangeCall, input: RangeInput): RangeColumn {
    const fillSpan = call.fill ?? this.#select.fill;
    const key = [keyOf(call.span), keyOf(call.range), fillSpan === undefined ? '' : keyOf(fillSpan)].join('\0\0');
    const known = this.#columns.get(key);
    if (known !== undefined) return known;
    const type = resultType(call, input);
    const column: RangeColumn = {
      name: `__range${this.#columns.size}`,
      sql: callSql(call, input),
      rangeMs: durationOf(call.range, this.#context),
      emptySql: COUNTS.has(call.functionName) ? '0' : 'NULL',
      fill: fillSpan === undefined ? undefined : fillOf(fillSpan, type),
    };
    this.#columns.set(key, column);
    return column;
  }
}

/** Returns the tokens of an item without its alias. */
function spanOf(parts: readonly ItemPart[], tokens: Tokens): QueryText {
  const first = parts[0];
  const last = parts[parts.length - 1];
  const from = first.kind === 'token' ? first.i : first.first;
  const to = last.kind === 'token' ? last.i + 1 : (last.call.fill ?? last.call.range).to;
  return { tokens, from, to };
}

function checkSlots(columns: readonly RangeColumn[], alignMs: number): void {
  for (const { rangeMs } of columns) {
    if (rangeMs > alignMs * SLOTS_PER_ROW_MAX) {
      throw unplannedRange(`RANGE is more than ${SLOTS_PER_ROW_MAX} times as long as ALIGN`);
    }
  }
}

/** Aggregates that are zero over no rows. */
const COUNTS = new Set(['count', 'count_if', 'countif', 'approx_distinct', 'approx_count_distinct', 'regr_count']);
const ORDERED: Readonly<Partial<Record<string, string>>> = { first_value: 'first', last_value: 'last' };

function callSql(call: RangeCall, { alias, timeIndex }: RangeInput): string {
  const { functionName, args, isDistinct, order, span } = call;
  const engineName = ORDERED[functionName];
  // Rows have different times, so that all rows are distinct.
  if (functionName === 'count' && isDistinct && args.length === 1 && isWildcard(args[0])) return 'count(*)';
  if (engineName === undefined) return spanText(span);
  if (args.length !== 1) {
    throw unplannedRange(`The function '${functionName}' expected 1 arguments but received ${args.length}`);
  }
  const time = alias === '' ? quoteName(timeIndex.name) : `${quoteName(alias)}.${quoteName(timeIndex.name)}`;
  const keys = [...order.map((key) => sortKey(key, spanText)), time];
  return `${engineName}(${isDistinct ? 'DISTINCT ' : ''}${spanText(args[0])} ORDER BY ${keys.join(', ')})`;
}

/** Aggregates whose result has the type of their argument. */
const SAME_TYPE = new Set(['min', 'max', 'first_value', 'last_value', 'sum', 'median']);

/** Returns the type of a range expression's result, as far as its argument is a column. */
function resultType({ functionName, args }: RangeCall, { columns }: RangeInput): string | undefined {
  if (COUNTS.has(functionName)) return 'Int64';
  if (functionName === 'avg') return 'Float64';
  const path = args.length === 1 && SAME_TYPE.has(functionName) ? columnPath(args[0]) : undefined;
  return path === undefined ? undefined : columns.find(({ name }) => name === path.at(-1))?.type;
}

const WHOLE_NUMBER = /^[+-]?\d+$/;
const INTEGER = /^U?Int(?:8|16|32|64)$/;
const NUMBER = /^[+-]?(?:\d+\.?\d*|\.\d+)(?:e[+-]?\d+)?$/i;

/** @throws `plan_query` if results of the type cannot be filled so. */
function fillOf(span: QueryText, type: string | undefined): Fill {
  const { tokens, from } = span;
  const isInteger = type !== undefined && INTEGER.test(type);
  const isNumeric = isInteger || (type !== undefined && /^(?:Float|Decimal)/.test(type));
  switch (spanText(span).toUpperCase()) {
    case 'NULL':
      return { kind: 'null' };
    case 'PREV':
      return { kind: 'prev' };
    case 'LINEAR':
      if (type !== undefined && !isNumeric) {
        throw unplannedRange(`Use FILL LINEAR on Non-numeric DataType ${dataType(type).name}`);
      }
      return { kind: 'linear' };
    default: {
      const value = tokens.kind(from) === Kind.text ? tokens.textValue(from) : spanText(span);
      if (!isNumeric) return { kind: 'constant', sql: constantSql(span) };
      if (!(isInteger ? WHOLE_NUMBER : NUMBER).test(value)) throw invalidFill(span, `a value of type ${type}`);
      return { kind: 'constant', sql: value };
    }
  }
}

function constantSql(span: QueryText): string {
  const { tokens, from } = span;
  const isConstant = !isName(tokens, from) || tokens.isWord(from, 'TRUE') || tokens.isWord(from, 'FALSE');
  if (!isConstant) throw invalidFill(span, 'NULL, PREV, LINEAR or a constant');
  return spanText(span);
}

function invalidFill(span: QueryText, allowed: string): Error {
  const text = spanText(span).slice(0, 100);
  return unplannedRange(`${text} is not a valid fill option, fail to convert to a const value. Expected ${allowed}`);
}
