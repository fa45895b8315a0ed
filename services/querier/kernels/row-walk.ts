import type { Runs } from '../columns/runs.js';
import type { FieldValues } from './field-values.js';
import { clearNulls, clearWhere, markCompared } from './masks.js';
import type { RowConditions } from './query.js';
import type { RegionSeries } from './series-groups.js';
import { relativeTo, rowAt, timeAt, type RelativeGrid, type TimeGrid } from './time-grid.js';

/** Values of the fields of a query by column ID, for some rows; without those that are null in all of them. */
export type Fields = ReadonlyMap<number, FieldValues>;

/** Rows of one series with successive row numbers, and their cell: `label * bucket count + bucket`. */
export interface RowSpan {
  readonly from: number;
  readonly to: number;
  readonly cell: number;
}

/** Receives the rows that a query selects. */
export interface WalkSink {
  /** Whether it needs no more rows. */
  readonly isComplete: boolean;
  /** Called before the rows of a row group or a batch. */
  begin(rowCount: number, fields: Fields): void;
  /**
   * Receives rows.
   *
   * @param mask has 0 for each row that does not satisfy the conditions; undefined: all rows do.
   * @param walk is at the series of the rows.
   */
  add(span: RowSpan, mask: Uint8Array | undefined, fields: Fields, walk: RowWalk): void;
}

/** Rows in any order. */
export interface UnorderedRows {
  readonly sids: Uint32Array;
  /** Relative to `base`. */
  readonly times: Float64Array;
  readonly base: bigint;
}

/** Finds the rows of a query and passes them on in spans of one series and time bucket. */
export class RowWalk {
  readonly #query: RowConditions;
  readonly #grid: TimeGrid;
  readonly #sink: WalkSink;
  /** Rows that satisfy all conditions, and one of them. */
  #matching = new Uint8Array(0);
  #one = new Uint8Array(0);
  /** Series of the current rows, within its region. */
  sid = 0;
  /** Number of the current region. */
  region = 0;
  #runs: Runs | undefined;
  #run = 0;
  #unordered: UnorderedRows | undefined;

  constructor(query: RowConditions, grid: TimeGrid, sink: WalkSink) {
    this.#query = query;
    this.#grid = grid;
    this.#sink = sink;
  }

  /** Returns the time of a row of the current rows. */
  timeOf(row: number): bigint {
    if (this.#runs !== undefined) return this.#runs.base + BigInt(timeAt(this.#runs, this.#run, row));
    return this.#unordered === undefined ? 0n : this.#unordered.base + BigInt(this.#unordered.times[row]);
  }

  /** Walks over the rows of a row group. */
  addRuns(runs: Runs, fields: Fields, { labels }: RegionSeries): void {
    if (!this.begin(runs.rows[runs.count], fields)) return;
    const grid = relativeTo(runs.base, this.#grid, this.#query.bounds);
    this.#runs = runs;
    for (let run = 0; run < runs.count; run++) {
      const label = labels === undefined ? 0 : labels.at(runs.sids[run]);
      if (label === undefined || label === -1) continue;
      const from = grid.from === -Infinity ? runs.rows[run] : rowAt(runs, run, grid.from);
      const to = grid.to === Infinity ? runs.rows[run + 1] : rowAt(runs, run, grid.to);
      if (from >= to) continue;
      this.sid = runs.sids[run];
      this.#run = run;
      this.#addRun(runs, { from, to, cell: label * this.#grid.count }, grid, fields);
    }
  }

  /** Walks over the rows `[first, end)` of rows that are in any order, after `begin` for all of them. */
  addRows(
    rows: UnorderedRows,
    { first, end }: { readonly first: number; readonly end: number },
    fields: Fields,
    { labels }: RegionSeries,
  ): void {
    const { sids, times, base } = rows;
    const { from, to, step, bucket, rest } = relativeTo(base, this.#grid, this.#query.bounds);
    this.#runs = undefined;
    this.#unordered = rows;
    for (let row = first; row < end; row++) {
      const time = times[row];
      const label = labels === undefined ? 0 : labels.at(sids[row]);
      if (label === undefined || label === -1 || time < from || time >= to) continue;
      const number = step === Infinity ? 0 : bucket + Math.floor((rest + time) / step);
      this.sid = sids[row];
      this.#pass({ from: row, to: row + 1, cell: label * this.#grid.count + number }, fields);
    }
  }

  /** Prepares for rows. @returns whether any of them can satisfy the conditions. */
  begin(rowCount: number, fields: Fields): boolean {
    this.#sink.begin(rowCount, fields);
    if (this.#matching.length < rowCount) {
      this.#matching = new Uint8Array(rowCount);
      this.#one = new Uint8Array(rowCount);
    }
    return this.#query.fieldConditions.every(({ field }) => fields.has(field.id));
  }

  /** Cuts a run at the boundaries of buckets. */
  #addRun(runs: Runs, { from, to, cell }: RowSpan, { step, bucket, rest }: RelativeGrid, fields: Fields): void {
    if (step === Infinity) {
      this.#pass({ from, to, cell }, fields);
      return;
    }
    for (let row = from; row < to;) {
      const number = Math.floor((rest + timeAt(runs, this.#run, row)) / step);
      const end = Math.min(to, rowAt(runs, this.#run, (number + 1) * step - rest));
      this.#pass({ from: row, to: end, cell: cell + bucket + number }, fields);
      row = end;
    }
  }

  #pass(span: RowSpan, fields: Fields): void {
    const mask = this.#query.fieldConditions.length === 0 ? undefined : this.#match(fields, span);
    this.#sink.add(span, mask, fields, this);
  }

  /** Marks the rows that satisfy all conditions. */
  #match(fields: Fields, { from, to }: RowSpan): Uint8Array {
    const matching = this.#matching;
    for (const [i, condition] of this.#query.fieldConditions.entries()) {
      const numbers = fields.get(condition.field.id);
      if (numbers === undefined) continue;
      const target = i === 0 ? matching : this.#one;
      markCompared(numbers, condition, target, from, to);
      if (numbers.valid !== undefined) clearNulls(target, numbers.valid, from, to);
      if (i > 0) clearWhere(matching, target, from, to);
    }
    return matching;
  }
}
