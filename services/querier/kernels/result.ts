import type { Cell } from '#shared/duckdb/chunk-reader';
import type { ColumnCells, NumberCells } from '#shared/formats/format';

import { compute, COMPUTED_BYTES, type ComputedColumn, type ComputeOptions } from './arithmetic.js';
import { satisfies } from './masks.js';
import type { QueryMemory } from './memory.js';
import {
  NotForKernels,
  type AggregateQuery,
  type ResultCondition,
  type ResultOrder,
  type ResultOrdering,
  type ResultPosition,
} from './query.js';
import type { Label } from './series-groups.js';
import { startsOf, startWords, type TimeGrid } from './time-grid.js';

/** Rows that are sorted at once, which takes some 20 ms. */
const SORTED_MAX = 1 << 16;

/** The rows of a result, in order. */
export interface ResultRows {
  readonly count: number;
  /** Returns cells of a column for the rows `[from, to)`. @param output position in the outputs of the query. */
  cells(output: number, from: number, to: number): Cell[];
  /** As `cells`, in arrays where these take less time; integers of 64 bits that are exact may be numbers. */
  arrays(output: number, from: number, to: number): ColumnCells;
}

/** An aggregate of a group; times are big integers. */
export type AggregateResult = number | bigint | null;

/** The aggregates of groups. */
export interface GroupResults {
  /** Returns the cells that are in the result, ascending. */
  filledCells(): number[];
  /** Returns an aggregate of a cell. @param i position of the aggregate in the query. */
  result(i: number, cell: number): AggregateResult;
}

/** Groups of a query. A cell is `label * bucket count + bucket`. */
export interface Groups {
  readonly labels: readonly Label[];
  readonly grid: TimeGrid;
  readonly aggregation: GroupResults;
}

/** What expressions over aggregates need. */
export interface ExpressionOptions extends ComputeOptions {
  readonly memory: QueryMemory;
}

/**
 * Filters, sorts and limits groups.
 *
 * @param isWide whether an output has cells of big integers.
 * @throws `NotForKernels` if there are too many to sort, or as `compute`.
 */
export async function resultOf(
  query: AggregateQuery,
  groups: Groups,
  isWide: (output: number) => boolean,
  options: ExpressionOptions,
): Promise<ResultRows> {
  const read = new GroupReader(query, groups, options);
  let cells = query.keys.length === 0 ? [0] : groups.aggregation.filledCells();
  for (const condition of query.having) cells = await satisfying(cells, condition, read);
  const columns = await read.expressions(cells);
  // Expressions are computed by position, other values are read by cell.
  const isByCell = columns.size === 0;
  const rows = ordered(isByCell ? cells : cells.map((_, i) => i), query, ({ position }) => {
    const column = columns.get(position);
    if (column !== undefined) return (row) => valueOf(column, row);
    const value = read.sortValue(position);
    return isByCell ? value : (row) => value(cells[row]);
  });
  const cellsOf = (output: number, from: number, to: number): Cell[] => {
    const position = query.outputs[output];
    const column = columns.get(position);
    const cell = read.cells(position);
    const hasWide = isWide(output);
    const end = Math.min(to, rows.length);
    const values: Cell[] = [];
    for (let i = from; i < end; i++) {
      const value = column === undefined ? cell(isByCell ? rows[i] : cells[rows[i]]) : valueOf(column, rows[i]);
      values.push(hasWide && typeof value === 'number' ? BigInt(value) : value);
    }
    return values;
  };
  const arraysOf = (output: number, from: number, to: number): ColumnCells => {
    const position = query.outputs[output];
    const some = rows.slice(from, to);
    const column = columns.get(position);
    const arrays =
      column === undefined
        ? read.arrays(position, isByCell ? some : some.map((row) => cells[row]))
        : numbersOf(some, (row) => valueOf(column, row));
    return arrays ?? cellsOf(output, from, to);
  };
  return { count: rows.length, cells: cellsOf, arrays: arraysOf };
}

/** Returns numbers; undefined if one of them is none. */
function numbersOf(rows: readonly number[], valueOf: (row: number) => AggregateResult): NumberCells | undefined {
  const values = new Float64Array(rows.length);
  const present = new Uint8Array(rows.length);
  for (let i = 0; i < rows.length; i++) {
    const value = valueOf(rows[i]);
    if (value === null) continue;
    if (typeof value !== 'number') return undefined;
    values[i] = value;
    present[i] = 1;
  }
  return { values, present };
}

async function satisfying(cells: number[], condition: ResultCondition, read: GroupReader): Promise<number[]> {
  const { position } = condition;
  const column = await read.expression(position, cells);
  return cells.filter((cell, i) => {
    const value = column === undefined ? read.aggregate(position, cell) : valueOf(column, i);
    return typeof value === 'number' && satisfies(value, condition);
  });
}

function valueOf({ values, valid }: ComputedColumn, row: number): number | null {
  return valid[row] === 1 ? values[row] : null;
}

/** A value by which rows are sorted. */
export type SortValue = string | number | bigint | boolean | null;

/**
 * Sorts and cuts rows.
 *
 * @param valueOf returns how to read the value of a member of ORDER BY.
 * @throws `NotForKernels` if there are too many to sort.
 */
export function ordered(
  rows: readonly number[],
  { order, offset, limit }: ResultOrdering,
  valueOf: (order: ResultOrder) => (row: number) => SortValue,
): number[] {
  if (order.length === 0 || rows.length < 2) return rows.slice(offset, offset + limit);
  if (rows.length > SORTED_MAX) throw new NotForKernels('the result has too many rows to sort');
  if (order.length === 1 && isSorted(rows, order[0], valueOf(order[0]))) return rows.slice(offset, offset + limit);
  const ranks = order.map((each) => ranksOf(rows.map(valueOf(each)), each));
  const sorted = rows
    .map((_, i) => i)
    .sort((a, b) => {
      for (const rank of ranks) if (rank[a] !== rank[b]) return rank[a] - rank[b];
      return 0;
    });
  return sorted.slice(offset, offset + limit).map((i) => rows[i]);
}

/** Reports whether rows are in the order of a column of numbers, as groups by time are. */
function isSorted(
  rows: readonly number[],
  { isDescending }: ResultOrder,
  valueOf: (row: number) => SortValue,
): boolean {
  let before = isDescending ? Infinity : -Infinity;
  for (const row of rows) {
    const value = valueOf(row);
    // A comparison with NaN is false.
    if (typeof value !== 'number' || !(isDescending ? value <= before : value >= before)) return false;
    before = value;
  }
  return true;
}

/** Returns numbers that are in the order of values: comparing these is faster. */
function ranksOf(values: readonly SortValue[], { isDescending, nullsFirst }: ResultOrder): Float64Array {
  const distinct = sortedValues(new Set(values));
  if (isDescending) distinct.reverse();
  const ranks = new Map<SortValue, number>(distinct.map((value, i) => [value, i]));
  ranks.set(null, nullsFirst ? -1 : distinct.length);
  return Float64Array.from(values, (value) => ranks.get(value) ?? 0);
}

/** Code units from here on are not in the order of the UTF-8 bytes, by which the engine sorts. */
const SURROGATES = /[\ud800-\uffff]/;

/** Returns the values that are not null in the order of the engine: NaN is greatest. */
function sortedValues(values: ReadonlySet<SortValue>): SortValue[] {
  const texts = [...values].filter((value) => typeof value === 'string');
  if (texts.some((text) => SURROGATES.test(text))) {
    return texts.sort((a, b) => Buffer.compare(Buffer.from(a), Buffer.from(b)));
  }
  const times = [...values].filter((value) => typeof value === 'bigint');
  const numbers = [...values].filter((value) => typeof value === 'number');
  const truths = [false, true].filter((value) => values.has(value));
  return [...texts.sort(), ...BigInt64Array.from(times).sort(), ...Float64Array.from(numbers).sort(), ...truths];
}

/** Reads keys and aggregates of groups by position, and computes expressions over them. */
class GroupReader {
  readonly #query: AggregateQuery;
  readonly #groups: Groups;
  readonly #options: ExpressionOptions;
  readonly #bucketCount: number;
  /** Position of the tags among the keys, as in labels. */
  readonly #tagAt: readonly number[];

  constructor(query: AggregateQuery, groups: Groups, options: ExpressionOptions) {
    this.#query = query;
    this.#groups = groups;
    this.#options = options;
    this.#bucketCount = groups.grid.count;
    let tags = 0;
    this.#tagAt = query.keys.map(({ kind }) => (kind === 'tag' ? tags++ : -1));
  }

  /** Computes all expressions for cells. */
  async expressions(cells: readonly number[]): Promise<ReadonlyMap<ResultPosition, ComputedColumn>> {
    const columns = new Map<ResultPosition, ComputedColumn>();
    const first = this.#query.keys.length + this.#query.aggregates.length;
    for (let i = 0; i < this.#query.expressions.length; i++) {
      const column = await this.expression(first + i, cells);
      if (column !== undefined) columns.set(first + i, column);
    }
    return columns;
  }

  /** Computes the expression at a position for cells; undefined if it has a key or an aggregate. */
  async expression(position: ResultPosition, cells: readonly number[]): Promise<ComputedColumn | undefined> {
    const { keys, aggregates, expressions } = this.#query;
    const expression = expressions.at(Math.max(0, position - keys.length - aggregates.length));
    if (expression === undefined || position < keys.length + aggregates.length) return undefined;
    this.#options.memory.reserve(cells.length * COMPUTED_BYTES);
    const { aggregation } = this.#groups;
    return compute(expression, cells, (i, cell) => aggregation.result(i, cell), this.#options);
  }

  /** Returns how to read the cells of a column of the result. */
  cells(position: number): (cell: number) => Cell {
    const { keys } = this.#query;
    if (position >= keys.length) return (cell) => this.aggregate(position, cell);
    if (keys[position].kind !== 'bucket') return (cell) => this.#label(position, cell);
    const start = startsOf(this.#groups.grid);
    return (cell) => start(cell % this.#bucketCount);
  }

  /** Returns cells of a column in arrays; undefined where these take no less time. */
  arrays(position: number, cells: readonly number[]): ColumnCells | undefined {
    const { keys } = this.#query;
    if (position >= keys.length) return numbersOf(cells, (cell) => this.aggregate(position, cell));
    if (keys[position].kind !== 'bucket') return undefined;
    return startWords(
      this.#groups.grid,
      cells.map((cell) => cell % this.#bucketCount),
    );
  }

  aggregate(position: number, cell: number): AggregateResult {
    return this.#groups.aggregation.result(position - this.#query.keys.length, cell);
  }

  /** Returns how to read a value by which groups are sorted. */
  sortValue(position: number): (cell: number) => SortValue {
    const { keys } = this.#query;
    if (position >= keys.length) return (cell) => this.aggregate(position, cell);
    if (keys[position].kind === 'bucket') return (cell) => cell % this.#bucketCount;
    return (cell) => this.#label(position, cell);
  }

  #label(position: number, cell: number): string | null {
    return this.#groups.labels[Math.floor(cell / this.#bucketCount)][this.#tagAt[position]];
  }
}
