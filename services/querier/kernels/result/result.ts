import type { Cell } from '#shared/duckdb/chunk-reader';
import type { ColumnCells, NumberCells } from '#shared/duckdb/column-cells';

import { compute, COMPUTED_BYTES, type ComputedColumn, type ComputeOptions } from '../arithmetic.js';
import { satisfies } from '../masks.js';
import type { QueryMemory } from '../memory.js';
import type { AggregateQuery, ResultCondition, ResultPosition } from '../query.js';
import type { Label } from '../series-groups.js';
import { ofRows, orderedRows, wordsOf, type SortKey } from './ordered-rows.js';
import { startsOf, startWords, type TimeGrid } from '../time-grid.js';

/** What is made of a result. */
export interface ResultUse {
  /** Returns whether `cells` has big integers for an output. */
  readonly isWide: (output: number) => boolean;
  /** Whether the text is made of `arrays`. */
  readonly takesArrays: boolean;
}

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
  /** As `result`, in arrays for several cells; undefined if that takes no less time. */
  results?(i: number, cells: readonly number[]): NumberCells | undefined;
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
 * @throws `NotForKernels` if there are too many to sort, or as `compute`.
 */
export async function resultOf(
  query: AggregateQuery,
  groups: Groups,
  { isWide }: ResultUse,
  options: ExpressionOptions,
): Promise<ResultRows> {
  const read = new GroupReader(query, groups, options);
  let cells = query.keys.length === 0 ? [0] : groups.aggregation.filledCells();
  for (const condition of query.having) cells = await satisfying(cells, condition, read);
  const columns = await read.expressions(cells);
  // Expressions are computed by position, other values are read by cell.
  const isByCell = columns.size === 0;
  const rows = orderedRows(isByCell ? cells : cells.map((_, i) => i), query, ({ position }) => {
    const column = columns.get(position);
    if (column !== undefined) return { value: (row) => valueOf(column, row) };
    const key = read.sortKey(position);
    return isByCell ? key : ofRows(key, cells);
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
  let block: CellBlock | undefined;
  const arraysOf = (output: number, from: number, to: number): ColumnCells => {
    const position = query.outputs[output];
    const column = columns.get(position);
    if (block?.from !== from || block.to !== to) {
      const some = rows.slice(from, to);
      block = { from, to, rows: some, cells: isByCell ? some : some.map((row) => cells[row]), labels: undefined };
    }
    const arrays =
      column === undefined ? read.arrays(position, block) : numbersOf(block.rows, (row) => valueOf(column, row));
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

/** Rows `[from, to)` of a result. */
interface CellBlock {
  readonly from: number;
  readonly to: number;
  readonly rows: readonly number[];
  /** Their cells in the groups. */
  readonly cells: readonly number[];
  /** Numbers of their labels, if they were needed. */
  labels: Uint32Array | undefined;
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
  arrays(position: number, block: CellBlock): ColumnCells | undefined {
    const { keys } = this.#query;
    const { cells } = block;
    if (position >= keys.length) {
      const found = this.#groups.aggregation.results?.(position - keys.length, cells);
      return found ?? numbersOf(cells, (cell) => this.aggregate(position, cell));
    }
    const count = this.#bucketCount;
    if (keys[position].kind === 'bucket') {
      return startWords(
        this.#groups.grid,
        cells.map((cell) => cell % count),
      );
    }
    const { labels } = this.#groups;
    if (cells.length < labels.length) return undefined;
    block.labels ??= wordsOf(cells, (cell) => Math.floor(cell / count));
    const at = this.#tagAt[position];
    return { numbers: block.labels, cells: labels.map((label) => label[at]) };
  }

  aggregate(position: number, cell: number): AggregateResult {
    return this.#groups.aggregation.result(position - this.#query.keys.length, cell);
  }

  /** Returns by what groups are sorted. */
  sortKey(position: number): SortKey {
    const { keys } = this.#query;
    if (position >= keys.length) return { value: (cell) => this.aggregate(position, cell) };
    const count = this.#bucketCount;
    if (keys[position].kind === 'bucket') return { numberOf: (cell) => cell % count, count };
    const { labels } = this.#groups;
    const at = this.#tagAt[position];
    return {
      numberOf: (cell) => Math.floor(cell / count),
      count: labels.length,
      valueAt: (label) => labels[label][at],
    };
  }

  #label(position: number, cell: number): string | null {
    return this.#groups.labels[Math.floor(cell / this.#bucketCount)][this.#tagAt[position]];
  }
}
