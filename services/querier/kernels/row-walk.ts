import { invariant } from '#shared/errors/invariant';
import { OP_FIELD_ID } from '#shared/schema/segment-columns';

import type { Runs } from '../columns/runs.js';
import type { FieldValues } from './field-values.js';
import { clearDeletions, clearNulls, clearWhere, markCompared } from './masks.js';
import type { RowConditions } from './query.js';
import type { RowTimes } from './fresh/row-times.js';
import { RowSpans, type RowNumbers, type RowSpan } from './row-spans.js';
import type { RegionSeries } from './series-groups.js';
import { relativeTo, rowAt, timeAt, type RelativeGrid, type TimeGrid } from './time-grid.js';

/** Values of the fields of a query by column ID, for some rows; without those that are null in all of them. */
export type Fields = ReadonlyMap<number, FieldValues>;

/** Receives the rows that a query selects. */
export interface WalkSink {
  /** Whether it needs no more rows. */
  readonly isComplete: boolean;
  /** Whether older versions of rows, and rows in any order, make no difference if no field is read. */
  readonly mayRepeat?: boolean;
  /** Called before the rows of a row group or a batch. */
  begin(rowCount: number, fields: Fields): void;
  /**
   * Receives rows.
   *
   * @param mask has 0 for each row that does not satisfy the conditions; undefined: all rows do.
   * @param walk is at the series of the rows.
   */
  add(span: RowSpan, mask: Uint8Array | undefined, fields: Fields, walk: RowWalk): void;
  /**
   * Receives several spans, as it must if the grid has buckets.
   *
   * @param mask as above, for all rows of the spans
   */
  addSpans?(spans: RowSpans, mask: Uint8Array | undefined, fields: Fields, walk: RowWalk): void;
}

/** Rows in any order. */
export interface UnorderedRows {
  readonly sids: Uint32Array;
  readonly times: RowTimes;
}

const NO_ROWS = new Uint8Array(0);
/** Spans that are passed on together. */
const SPANS_MAX = 256;
/** Empty between calls, so that all queries share it: arrays for each would take longer than its spans. */
const spans = new RowSpans(SPANS_MAX);

/** Finds the rows of a query and passes them on in spans of one series and time bucket. */
export class RowWalk {
  readonly #query: RowConditions;
  readonly #grid: TimeGrid;
  readonly #sink: WalkSink;
  readonly #keepsDeletions: boolean;
  /** Number of rows of the current row group or batch. */
  #rowCount = 0;
  /** Rows that satisfy all conditions, and one of them. They are allocated when they are needed. */
  #matching = NO_ROWS;
  #one = NO_ROWS;
  /** Series of the current rows, within its region. */
  sid = 0;
  /** Number of the current region. */
  region = 0;
  #runs: Runs | undefined;
  #run = 0;
  #unordered: UnorderedRows | undefined;

  /** @param keepsDeletions whether rows that are deletions are passed on. */
  constructor(query: RowConditions, grid: TimeGrid, sink: WalkSink, keepsDeletions = false) {
    this.#query = query;
    this.#grid = grid;
    this.#sink = sink;
    this.#keepsDeletions = keepsDeletions;
  }

  /** Whether no more rows are needed. */
  get isComplete(): boolean {
    return this.#sink.isComplete;
  }

  /** Returns the time of a row of the current rows. */
  timeOf(row: number): bigint {
    if (this.#runs !== undefined) return this.#runs.base + BigInt(timeAt(this.#runs, this.#run, row));
    return this.#unordered === undefined ? 0n : this.#unordered.times.at(row);
  }

  /** Writes the times of some of the current rows, relative to `base`, to `target` from `at`. */
  copyTimes({ from, to }: RowSpan, base: bigint, target: Float64Array, at: number): void {
    if (this.#runs === undefined) {
      for (let row = from; row < to; row++) target[at + row - from] = Number(this.timeOf(row) - base);
      return;
    }
    const offset = Number(this.#runs.base - base);
    for (let row = from; row < to; row++) target[at + row - from] = offset + timeAt(this.#runs, this.#run, row);
  }

  /** Walks over the rows of a row group. @param some numbers of the runs that may be selected; undefined: any */
  addRuns(runs: Runs, fields: Fields, { labels }: RegionSeries, some?: readonly number[]): void {
    if (!this.begin(runs.rows[runs.count], fields)) return;
    const grid = relativeTo(runs.base, this.#grid, this.#query.bounds);
    this.#runs = runs;
    const count = some === undefined ? runs.count : some.length;
    for (let i = 0; i < count; i++) {
      const run = some === undefined ? i : some[i];
      const label = labelIn(labels, runs.sids[run]);
      if (label < 0) continue;
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
    const { sids, times } = rows;
    const { from, to, step, bucket, rest } = relativeTo(times.base, this.#grid, this.#query.bounds);
    this.#runs = undefined;
    this.#unordered = rows;
    for (let row = first; row < end; row++) {
      const time = times.sinceBase(row);
      const label = labelIn(labels, sids[row]);
      if (label < 0 || time < from || time >= to) continue;
      const number = step === Infinity ? 0 : bucket + Math.floor((rest + time) / step);
      this.sid = sids[row];
      this.#pass({ from: row, to: row + 1, cell: label * this.#grid.count + number }, fields);
    }
  }

  /** Prepares for rows. @returns whether any of them can satisfy the conditions. */
  begin(rowCount: number, fields: Fields): boolean {
    this.#sink.begin(rowCount, fields);
    this.#rowCount = rowCount;
    return this.#query.fieldConditions.every(({ field }) => fields.has(field.id));
  }

  /** Cuts a run at the boundaries of buckets. */
  #addRun(runs: Runs, { from, to, cell }: RowSpan, { step, bucket, rest }: RelativeGrid, fields: Fields): void {
    if (step === Infinity) {
      this.#pass({ from, to, cell }, fields);
      return;
    }
    spans.count = 0;
    for (let row = from; row < to;) {
      const number = Math.floor((rest + timeAt(runs, this.#run, row)) / step);
      const end = Math.min(to, rowAt(runs, this.#run, (number + 1) * step - rest));
      spans.add(row, end, cell + bucket + number);
      if (spans.isFull) this.#passAll(fields);
      row = end;
    }
    if (spans.count > 0) this.#passAll(fields);
  }

  #pass(span: RowSpan, fields: Fields): void {
    this.#sink.add(span, this.#mask(fields, span), fields, this);
  }

  #passAll(fields: Fields): void {
    invariant(this.#sink.addSpans !== undefined, 'what receives rows of time buckets receives several spans');
    this.#sink.addSpans(spans, this.#mask(fields, spans.rows), fields, this);
    spans.count = 0;
  }

  /** Returns a mask with 0 for each row that is left out; undefined: none is. */
  #mask(fields: Fields, rows: RowNumbers): Uint8Array | undefined {
    const ops = this.#keepsDeletions ? undefined : fields.get(OP_FIELD_ID);
    const isMasked = ops !== undefined || this.#query.fieldConditions.length > 0;
    const mask = isMasked ? this.#match(fields, rows) : undefined;
    if (ops !== undefined) clearDeletions(this.#matching, ops, rows.from, rows.to);
    return mask;
  }

  /** Marks the rows that satisfy all conditions. */
  #match(fields: Fields, { from, to }: RowNumbers): Uint8Array {
    if (this.#matching.length < this.#rowCount) this.#matching = new Uint8Array(this.#rowCount);
    const matching = this.#matching;
    if (this.#query.fieldConditions.length === 0) matching.fill(1, from, to);
    for (const [i, condition] of this.#query.fieldConditions.entries()) {
      const numbers = fields.get(condition.field.id);
      if (numbers === undefined) continue;
      if (i > 0 && this.#one.length < this.#rowCount) this.#one = new Uint8Array(this.#rowCount);
      const target = i === 0 ? matching : this.#one;
      markCompared(numbers, condition, target, from, to);
      if (numbers.valid !== undefined) clearNulls(target, numbers.valid, from, to);
      if (i > 0) clearWhere(matching, target, from, to);
    }
    return matching;
  }
}

/** Returns the label number of a series; -1 if it is not selected. */
function labelIn(labels: Int32Array | undefined, sid: number): number {
  if (labels === undefined) return 0;
  return sid < labels.length ? labels[sid] - 1 : -1;
}
