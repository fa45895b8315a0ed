import type { Cell } from '#shared/duckdb/chunk-reader';

import { satisfies } from './masks.js';
import { NotForKernels, type AggregateQuery, type ResultOrder } from './query.js';
import type { Groups } from './read-source.js';
import { startOf } from './time-grid.js';

/** Rows that are sorted at once, which takes some 20 ms. */
const SORTED_MAX = 1 << 16;

/** The rows of a result, in order. */
export interface ResultRows {
  readonly count: number;
  /** Returns cells of a column for the rows `[from, to)`. @param output position in the outputs of the query. */
  cells(output: number, from: number, to: number): Cell[];
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
  if (query.order.length > 0 && cells.length > 1) {
    if (cells.length > SORTED_MAX) throw new NotForKernels('the result has too many groups to sort');
    const comparators = query.order.map((order) => read.comparator(order));
    cells.sort((a, b) => {
      for (const compare of comparators) {
        const order = compare(a, b);
        if (order !== 0) return order;
      }
      return 0;
    });
  }
  const rows = cells.slice(query.offset, query.offset + query.limit);
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

type Compare = (a: number, b: number) => number;

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
    this.#bucketCount = groups.aggregation.grid.count;
    let tags = 0;
    this.#tagAt = query.keys.map(({ kind }) => (kind === 'tag' ? tags++ : -1));
  }

  cell(position: number, cell: number): Cell {
    const { keys } = this.#query;
    if (position >= keys.length) return this.number(position, cell);
    if (keys[position].kind === 'bucket') return startOf(this.#groups.aggregation.grid, cell % this.#bucketCount);
    return this.#label(position, cell);
  }

  /** Returns an aggregate. */
  number(position: number, cell: number): number | null {
    return this.#groups.aggregation.result(position - this.#query.keys.length, cell);
  }

  comparator({ position, isDescending, nullsFirst }: ResultOrder): Compare {
    const { keys } = this.#query;
    const sign = isDescending ? -1 : 1;
    if (position < keys.length && keys[position].kind === 'bucket') {
      return (a, b) => sign * ((a % this.#bucketCount) - (b % this.#bucketCount));
    }
    const isTag = position < keys.length;
    const [value, compare] = isTag
      ? [(cell: number) => this.#label(position, cell), compareTexts as (a: unknown, b: unknown) => number]
      : [(cell: number) => this.number(position, cell), compareNumbers as (a: unknown, b: unknown) => number];
    return (a, b) => {
      const [first, second] = [value(a), value(b)];
      if (first === null || second === null) {
        if (first === second) return 0;
        return (first === null) === nullsFirst ? -1 : 1;
      }
      return sign * compare(first, second);
    };
  }

  #label(position: number, cell: number): string | null {
    return this.#groups.labels[Math.floor(cell / this.#bucketCount)][this.#tagAt[position]];
  }
}

/** Compares as the engine does: NaN is greatest. */
function compareNumbers(a: number, b: number): number {
  if (Number.isNaN(a) || Number.isNaN(b)) return Number(Number.isNaN(a)) - Number(Number.isNaN(b));
  return a < b ? -1 : a > b ? 1 : 0;
}

/** Code units from here on are not in the order of the UTF-8 bytes, by which the engine sorts. */
const SURROGATES = /[\ud800-\uffff]/;

function compareTexts(a: string, b: string): number {
  if (a === b) return 0;
  if (SURROGATES.test(a) || SURROGATES.test(b)) return Buffer.compare(Buffer.from(a), Buffer.from(b));
  return a < b ? -1 : 1;
}
