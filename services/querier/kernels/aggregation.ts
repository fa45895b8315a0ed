import { accumulatorOf, BYTES_PER_CELL, CountAccumulator, type Accumulator } from './accumulators.js';
import type { Runs } from '../columns/runs.js';
import type { FieldValues } from './field-values.js';
import { clearNulls, clearWhere, compareNumbers } from './masks.js';
import { NotForKernels, type AggregateQuery, type FieldCondition } from './query.js';
import type { RegionSeries } from './series-groups.js';
import { relativeTo, rowAt, timeAt, type RelativeGrid, type TimeGrid } from './time-grid.js';

/** Values of the fields of a query by column ID, for some rows; without those that are null in all of them. */
export type Fields = ReadonlyMap<number, FieldValues>;

/** Rows of a series with successive row numbers, and their cell. */
interface Span {
  readonly from: number;
  readonly to: number;
  readonly cell: number;
}

/** Sums of integers are exact below. */
const SUM_MAX = 2 ** 53;

/** Aggregates rows into cells, of which each pair of a label and a time bucket has one. */
export class Aggregation {
  readonly grid: TimeGrid;
  readonly #query: AggregateQuery;
  readonly #rows: CountAccumulator;
  readonly #accumulators: readonly Accumulator[];
  /** Bounds of the absolute values of sums of integers, by aggregate. */
  readonly #sumBounds: number[];
  readonly #cells: number;
  /** Rows of the current row group that satisfy all conditions, and those of them in which a field has a value. */
  #matching = new Uint8Array(0);
  #present = new Uint8Array(0);

  /** @throws `NotForKernels` if its cells take more than `bytesMax`. */
  constructor(query: AggregateQuery, grid: TimeGrid, labelCount: number, bytesMax: number) {
    this.#query = query;
    this.grid = grid;
    this.#cells = labelCount * grid.count;
    if (this.#cells * BYTES_PER_CELL * (query.aggregates.length + 1) > bytesMax) {
      throw new NotForKernels('the result has too many groups');
    }
    this.#rows = new CountAccumulator(this.#cells);
    this.#accumulators = query.aggregates.map((aggregate) => accumulatorOf(aggregate, this.#cells));
    this.#sumBounds = query.aggregates.map(() => 0);
  }

  /** Returns the cells that have rows, ascending. */
  filledCells(): number[] {
    const cells: number[] = [];
    for (let cell = 0; cell < this.#cells; cell++) if (this.#rows.result(cell) > 0) cells.push(cell);
    return cells;
  }

  /** Returns an aggregate of a cell. @param i position of the aggregate in the query. */
  result(i: number, cell: number): number | null {
    return this.#query.aggregates[i].field === undefined ? this.#rows.result(cell) : this.#accumulators[i].result(cell);
  }

  /** Adds the rows of a row group. */
  addRuns(runs: Runs, fields: Fields, { labels }: RegionSeries): void {
    if (!this.#begin(runs.rows[runs.count], fields)) return;
    const grid = relativeTo(runs.base, this.grid, this.#query.bounds);
    for (let run = 0; run < runs.count; run++) {
      const label = labels === undefined ? 0 : labels[runs.sids[run]];
      if (label === -1) continue;
      const from = grid.from === -Infinity ? runs.rows[run] : rowAt(runs, run, grid.from);
      const to = grid.to === Infinity ? runs.rows[run + 1] : rowAt(runs, run, grid.to);
      if (from < to) this.#addRun(runs, run, { from, to, cell: label * this.grid.count }, grid, fields);
    }
  }

  /** Adds the rows `[first, end)` of rows that are in any order. */
  addRows(
    { sids, times, base }: UnorderedRows,
    { first, end }: { readonly first: number; readonly end: number },
    fields: Fields,
    { labels }: RegionSeries,
  ): void {
    if (!this.#begin(end, fields)) return;
    const { from, to, step, bucket, rest } = relativeTo(base, this.grid, this.#query.bounds);
    for (let row = first; row < end; row++) {
      const time = times[row];
      const label = labels === undefined ? 0 : labels[sids[row]];
      if (label === -1 || time < from || time >= to) continue;
      const number = step === Infinity ? 0 : bucket + Math.floor((rest + time) / step);
      this.#addSpan({ from: row, to: row + 1, cell: label * this.grid.count + number }, fields);
    }
  }

  /** Prepares for the rows of a row group. @returns whether any of them can satisfy the conditions. */
  #begin(rowCount: number, fields: Fields): boolean {
    const { aggregates, fieldConditions } = this.#query;
    for (const [i, { name, field }] of aggregates.entries()) {
      if (field === undefined || (name !== 'sum' && name !== 'avg')) continue;
      this.#sumBounds[i] += (fields.get(field.id)?.magnitude ?? 0) * rowCount;
      if (this.#sumBounds[i] > SUM_MAX) throw new NotForKernels('sums of integers beyond 2^53');
    }
    if (this.#matching.length < rowCount) {
      this.#matching = new Uint8Array(rowCount);
      this.#present = new Uint8Array(rowCount);
    }
    return fieldConditions.every(({ field }) => fields.has(field.id));
  }

  /** Cuts a run at the boundaries of buckets. */
  #addRun(
    runs: Runs,
    run: number,
    { from, to, cell }: Span,
    { step, bucket, rest }: RelativeGrid,
    fields: Fields,
  ): void {
    if (step === Infinity) {
      this.#addSpan({ from, to, cell }, fields);
      return;
    }
    for (let row = from; row < to;) {
      const number = Math.floor((rest + timeAt(runs, run, row)) / step);
      const end = Math.min(to, rowAt(runs, run, (number + 1) * step - rest));
      this.#addSpan({ from: row, to: end, cell: cell + bucket + number }, fields);
      row = end;
    }
  }

  #addSpan({ from, to, cell }: Span, fields: Fields): void {
    const { aggregates, fieldConditions } = this.#query;
    const matching = fieldConditions.length === 0 ? undefined : this.#match(fieldConditions, fields, from, to);
    this.#rows.add(undefined, matching, from, to, cell);
    for (let i = 0; i < aggregates.length; i++) {
      const { field } = aggregates[i];
      const numbers = field === undefined ? undefined : fields.get(field.id);
      if (numbers === undefined) continue;
      let mask = matching;
      if (numbers.valid !== undefined) {
        mask = this.#present;
        mask.fill(1, from, to);
        clearNulls(mask, numbers.valid, from, to);
        if (matching !== undefined) clearWhere(mask, matching, from, to);
      }
      this.#accumulators[i].add(numbers, mask, from, to, cell);
    }
  }

  /** Marks the rows that satisfy all conditions. */
  #match(conditions: readonly FieldCondition[], fields: Fields, from: number, to: number): Uint8Array {
    const matching = this.#matching;
    for (const [i, condition] of conditions.entries()) {
      const numbers = fields.get(condition.field.id);
      if (numbers === undefined) continue;
      const target = i === 0 ? matching : this.#present;
      compareNumbers(numbers, condition, target, from, to);
      if (numbers.valid !== undefined) clearNulls(target, numbers.valid, from, to);
      if (i > 0) clearWhere(matching, target, from, to);
    }
    return matching;
  }
}

/** Rows in any order. */
export interface UnorderedRows {
  readonly sids: Uint32Array;
  /** Relative to `base`. */
  readonly times: Float64Array;
  readonly base: bigint;
}
