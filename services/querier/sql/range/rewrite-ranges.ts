import { quoteName } from '#shared/duckdb/quote';
import { dataType } from '#shared/schema/data-type';

import { isLiteral, isName, keyOf, columnPath, invalidRange, isDurationWord, textOf, unplannedRange } from './spans.js';
import { lexSql } from '../syntax/lex.js';
import type { QueryText } from '../syntax/query-text.js';
import { durationOf, originOf, type ConstantContext } from './constants.js';
import { readInput, type FindTable, type RangeInput } from './input.js';
import { itemSql, nameOf, parseItem, sortKey, type RangeCall, type RangeItem } from './items.js';
import { printRange, type Fill, type RangeColumn } from './print.js';
import { findRangeSelect, isWildcard, parseRangeSelect, type RangeSelect } from './range-select.js';

/** Most range queries in one statement: each is planned by itself. */
const RANGE_SELECTS_MAX = 16;
/** Most slots that one row belongs to: the input is multiplied by it. */
const SLOTS_PER_ROW_MAX = 10_000;

/** What a range query is rewritten with. */
export interface RangeContext extends ConstantContext {
  readonly find: FindTable;
}

/**
 * Replaces range queries (SELECT with RANGE and ALIGN) by ordinary SQL. Returns the same query if there is none.
 *
 * @throws `invalid_syntax`, `plan_query`, `unsupported`, `table_not_found`.
 */
export async function rewriteRanges(query: QueryText, context: RangeContext): Promise<QueryText> {
  let rewritten = query;
  for (let count = 0; ; count++) {
    const span = findRangeSelect(rewritten);
    if (span === undefined) return rewritten;
    if (count === RANGE_SELECTS_MAX) {
      throw unplannedRange(`the statement has more than ${RANGE_SELECTS_MAX} range queries`);
    }
    const { tokens, from, to } = rewritten;
    const before = textOf({ tokens, from, to: span.from });
    const after = textOf({ tokens, from: span.to, to });
    const sql = await new RangeRewriter(parseRangeSelect(span), context).sql();
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

interface Key {
  readonly span: QueryText | undefined;
  readonly sql: string;
  readonly name: string;
}

class RangeRewriter {
  readonly #select: RangeSelect;
  readonly #context: RangeContext;
  readonly #columns = new Map<string, RangeColumn>();

  constructor(select: RangeSelect, context: RangeContext) {
    this.#select = select;
    this.#context = context;
  }

  async sql(): Promise<string> {
    const { items, align, origin, where, tail, distinct } = this.#select;
    if (items.some(isWildcard)) throw invalidRange('Wildcard `*` is not allowed in range select query');
    const parsed = items.map(parseItem);
    if (!parsed.some(({ parts }) => parts.some(({ kind }) => kind === 'call'))) {
      throw invalidRange('Illegal Range select, no RANGE keyword found in any SelectItem');
    }
    const alignMs = durationOf(align, this.#context);
    const originMs = originOf(origin, this.#context);
    const input = await readInput(this.#select.input, this.#context.find);
    const keys = this.#keys(input);
    const printed = parsed.map((item) => this.#item(item, input, keys));
    const columns = [...this.#columns.values()];
    checkSlots(columns, alignMs);
    const whereSql = where === undefined ? undefined : textOf(where);
    const relation = printRange({ input, whereSql, alignMs, originMs, keys, columns });
    const alias = input.alias === '' ? '__ranges' : input.alias;
    return `SELECT ${distinct} ${printed.join(', ')} FROM (${relation}) AS ${quoteName(alias)}\n${tail}`;
  }

  /** Returns the BY expressions, by default the primary key. */
  #keys(input: RangeInput): Key[] {
    const { by } = this.#select;
    if (by === undefined) {
      if (input.primaryKey === undefined) {
        throw invalidRange('Range Query: Cannot infer default BY columns from derived range query input');
      }
      return input.primaryKey.map((name) => {
        const sql = `${quoteName(input.alias)}.${quoteName(name)}`;
        return { span: undefined, sql, name };
      });
    }
    // All rows have the same value of a literal.
    const spans = by.filter((span) => span.to - span.from > 1 || !isLiteral(span.tokens, span.from));
    const names = new Set<string>();
    return spans.map((span, i) => {
      let name = columnPath(span)?.at(-1) ?? `__key${i}`;
      if (names.has(name)) name = `__key${i}`;
      names.add(name);
      return { span, sql: textOf(span), name };
    });
  }

  #item(item: RangeItem, input: RangeInput, keys: readonly Key[]): string {
    const { tokens } = this.#select.span;
    const { parts, alias } = item;
    const columnOf = (call: RangeCall): string => this.#column(call, input);
    const hasCall = parts.some(({ kind }) => kind === 'call');
    const span = spanOf(item, this.#select.span);
    const key = keys.find((it) => it.span !== undefined && keyOf(it.span) === keyOf(span));
    const sql = !hasCall && key !== undefined ? quoteName(key.name) : itemSql(tokens, parts, columnOf);
    if (alias !== undefined) return `${sql} AS ${quoteName(alias)}`;
    const path = hasCall ? undefined : columnPath(span);
    if (path !== undefined) return key === undefined ? sql : `${sql} AS ${quoteName(path.at(-1) ?? '')}`;
    return `${sql} AS ${quoteName(nameOf(tokens, parts, (i) => this.#qualified(i, input)))}`;
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
  #column(call: RangeCall, input: RangeInput): string {
    const fillSpan = call.fill ?? this.#select.fill;
    const key = [keyOf(call.span), keyOf(call.range), fillSpan === undefined ? '' : keyOf(fillSpan)].join('\0\0');
    const known = this.#columns.get(key);
    if (known !== undefined) return known.name;
    const type = resultType(call, input);
    const column: RangeColumn = {
      name: `__range${this.#columns.size}`,
      sql: callSql(call, input),
      rangeMs: durationOf(call.range, this.#context),
      emptySql: COUNTS.has(call.functionName) ? '0' : 'NULL',
      fill: fillSpan === undefined ? undefined : fillOf(fillSpan, type),
    };
    this.#columns.set(key, column);
    return column.name;
  }
}

/** Returns the tokens of an item without its alias. */
function spanOf({ parts }: RangeItem, { tokens }: QueryText): QueryText {
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
  if (engineName === undefined) return textOf(span);
  if (args.length !== 1) {
    throw unplannedRange(`The function '${functionName}' expected 1 arguments but received ${args.length}`);
  }
  const time = alias === '' ? quoteName(timeIndex.name) : `${quoteName(alias)}.${quoteName(timeIndex.name)}`;
  const keys = [...order.map((key) => sortKey(key, textOf)), time];
  return `${engineName}(${isDistinct ? 'DISTINCT ' : ''}${textOf(args[0])} ORDER BY ${keys.join(', ')})`;
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

const INTEGER = /^U?Int(?:8|16|32|64)$/;
const NUMBER = /^[+-]?(?:\d+\.?\d*|\.\d+)(?:e[+-]?\d+)?$/i;

/** @throws `plan_query` if results of the type cannot be filled so. */
function fillOf(span: QueryText, type: string | undefined): Fill {
  const { tokens, from } = span;
  const text = textOf(span);
  if (tokens.isWord(from, 'NULL')) return { kind: 'null' };
  if (tokens.isWord(from, 'PREV')) return { kind: 'prev' };
  const isInteger = type !== undefined && INTEGER.test(type);
  const isNumeric = isInteger || type === undefined || /^(?:Float|Decimal)/.test(type);
  if (tokens.isWord(from, 'LINEAR')) {
    if (!isNumeric) throw unplannedRange(`Use FILL LINEAR on Non-numeric DataType ${dataType(type).name}`);
    return { kind: 'linear' };
  }
  const value = isLiteral(tokens, from) && tokens.raw(from).startsWith("'") ? tokens.textValue(from) : text;
  const isValid = !isNumeric || type === undefined || (isInteger ? /^[+-]?\d+$/ : NUMBER).test(value);
  if (!isValid || (isName(tokens, from) && !/^(?:true|false)$/i.test(text))) {
    const why = `expected ${type === undefined ? 'NULL, PREV, LINEAR or a constant' : `a value of type ${type}`}`;
    throw unplannedRange(`${text.slice(0, 100)} is not a valid fill option, fail to convert to a const value. ${why}`);
  }
  return { kind: 'constant', sql: isNumeric && type !== undefined ? value : text };
}
