import type { Cell } from '#shared/duckdb/chunk-reader';

import { satisfies } from './masks.js';
import { NotForKernels, type AggregateQuery, type ResultOrder, type ResultOrdering } from './query.js';
import type { Aggregation } from './aggregation.js';
import type { Label } from './series-groups.js';
import { startOf, type TimeGrid } from './time-grid.js';

/** Rows that are sorted at once, which takes some 20 ms. */
const SORTED_MAX = 1 << 16;

/** The rows of a result, in order. */
export interface ResultRows {
  readonly count: number;
  /** Returns cells of a column for the rows `[from, to)`. @param output position in the outputs of the query. */
  cells(output: number, from: number, to: number): Cell[];
}

/** Groups of a query. A cell is `label * bucket count + bucket`. */
export interface Groups {
  readonly labels: readonly Label[];
  readonly grid: TimeGrid;
  readonly aggregation: Aggregation;
}

/** Filters, sorts and limits groups. @param isWide whether an output has cells of 64-bit integers. */
export function resultOf(query: AggregateQuery, groups: Groups, isWide: (output: number) => boolean): ResultRows {
  const read = new GroupReader(query, groups);
  let cells = query.keys.length === 0 ? [0] : groups.aggregation.filledCells();
  for (const condition of query.having) {
    const { position } = condition;
    cells = cells.filter((cell) => {
      const value = read.number(position, cell);
      return value !== null && satisfies(value, condition);
    });
  }
  const rows = ordered(cells, query, (order) => read.comparator(order));
  return {
    count: rows.length,
    cells: (output, from, to) => {
      const position = query.outputs[output];
      const some = rows.slice(from, to);
      if (!isWide(output)) return some.map((cell) => read.cell(position, cell));
      return some.map((cell) => {
        const value = read.cell(position, cell);
        return typeof value === 'number' ? BigInt(value) : value;
      });
    },
  };
}

/** Sorts and cuts rows. @throws `NotForKernels` if there are too many to sort. */
export function ordered(
  rows: number[],
  { order, offset, limit }: ResultOrdering,
  comparatorOf: (order: ResultOrder) => Compare,
): number[] {
  if (order.length > 0 && rows.length > 1) {
    if (rows.length > SORTED_MAX) throw new NotForKernels('the result has too many rows to sort');
    const comparators = order.map(comparatorOf);
    rows.sort((a, b) => {
      for (const compare of comparators) {
        const sign = compare(a, b);
        if (sign !== 0) return sign;
      }
      return 0;
    });
  }
  return rows.slice(offset, offset + limit);
}

/** Compares values of rows in the order of the engine. */
export function valueComparator(
  { isDescending, nullsFirst }: ResultOrder,
  value: (row: number) => string | number | bigint | null,
): Compare {
  const sign = isDescending ? -1 : 1;
  return (a, b) => {
    const [first, second] = [value(a), value(b)];
    if (first === null || second === null) {
      if (first === second) return 0;
      return (first === null) === nullsFirst ? -1 : 1;
    }
    if (typeof first === 'string' || typeof second === 'string') {
      return sign * compareTexts(String(first), String(second));
    }
    return sign * compareNumbers(first, second);
  };
}

/** Compares two rows by their numbers. */
export type Compare = (a: number, b: number) => number;

/** Reads keys and aggregates of groups by position. */
class GroupReader {
  readonly #query: AggregateQuery;
  readonly #groups: Groups;
  readonly #bucketCount: number;
  /** Position of the tags among the keys, as in labels. */
  readonly #tagAt: readonly number[];

  constructor(query: AggregateQuery, groups: Groups) {
    this.#query = query;
    this.#groups = groups;
    this.#bucketCount = groups.grid.count;
    let tags = 0;
    this.#tagAt = query.keys.map(({ kind }) => (kind === 'tag' ? tags++ : -1));
  }

  cell(position: number, cell: number): Cell {
    const { keys } = this.#query;
    if (position >= keys.length) return this.number(position, cell);
    if (keys[position].kind === 'bucket') return startOf(this.#groups.grid, cell % this.#bucketCount);
    return this.#label(position, cell);
  }

  /** Returns an aggregate. */
  number(position: number, cell: number): number | null {
    return this.#groups.aggregation.result(position - this.#query.keys.length, cell);
  }

  comparator(order: ResultOrder): Compare {
    const { position } = order;
    const { keys } = this.#query;
    if (position >= keys.length) return valueComparator(order, (cell) => this.number(position, cell));
    if (keys[position].kind === 'bucket') return valueComparator(order, (cell) => cell % this.#bucketCount);
    return valueComparator(order, (cell) => this.#label(position, cell));
  }

  #label(position: number, cell: number): string | null {
    return this.#groups.labels[Math.floor(cell / this.#bucketCount)][this.#tagAt[position]];
  }
}

/** Compares as the engine does: NaN is greatest. */
function compareNumbers(a: number | bigint, b: number | bigint): number {
  const [isNan, isOtherNan] = [Number.isNaN(a), Number.isNaN(b)];
  if (isNan || isOtherNan) return Number(isNan) - Number(isOtherNan);
  return a < b ? -1 : a > b ? 1 : 0;
}

/** Code units from here on are not in the order of the UTF-8 bytes, by which the engine sorts. */
const SURROGATES = /[\ud800-\uffff]/;

function compareTexts(a: string, b: string): number {
  if (a === b) return 0;
  if (SURROGATES.test(a) || SURROGATES.test(b)) return Buffer.compare(Buffer.from(a), Buffer.from(b));
  return a < b ? -1 : 1;
}
