import { invariant } from '#shared/errors/invariant';
import { DELETED, PUT_AFTER_DELETE } from '#shared/schema/segment-columns';

import { decodeGroup, type DecodedRows } from '../columns/decode-chunk.js';
import type { ColumnChunks } from '../columns/footer.js';
import { flooredQuotient } from '../columns/group-bounds.js';
import type { Runs } from '../columns/runs.js';
import { HIDES, MISSING, type SampleSlice } from './sample-slice.js';

/** Rows `[from, to)` of a row group that belong to one series. */
export interface RowRange {
  readonly sid: number;
  readonly run: number;
  readonly from: number;
  readonly to: number;
}

/** A row group with its rows to read. */
export interface GroupRows {
  readonly group: number;
  readonly runs: Runs;
  readonly ranges: readonly RowRange[];
  readonly pages: Pages;
}

/** Columns of a file that samples consist of; undefined: the file does not have it, or no row has a value of it. */
export interface StoredColumns {
  readonly value: ColumnChunks | undefined;
  /** Scaled values of rows without one in `value`, and what they are divided by (docs/formats/segment.md). */
  readonly scaled: ColumnChunks | undefined;
  readonly divisor: ColumnChunks | undefined;
  readonly start: ColumnChunks | undefined;
  readonly op: ColumnChunks | undefined;
}

/** Pages of these columns in one row group. */
export type Pages = Readonly<Record<keyof StoredColumns, Uint8Array | undefined>>;

/** The rows of some row groups, series after series. */
export class SampleRows {
  readonly #perMs: number;
  readonly #times: Float64Array;
  readonly #values: Float64Array;
  /** Value of all rows of a file without the column. */
  readonly #backfill: number | undefined;
  #missing: Uint8Array | undefined;
  #starts: Float64Array | undefined;
  #count = 0;
  #timeCount = 0;
  /** Where the times of the last range are. */
  #timesFrom = 0;
  /** Where the times of each range are. */
  readonly #timesAt: number[] = [];
  #lastTimes: Float64Array = NO_TIMES;
  #lastTimesFrom = -1;
  #areLastAscending = true;

  constructor(groups: readonly GroupRows[], perMs: number, backfill: number | undefined) {
    let length = 0;
    for (const { ranges } of groups) for (const { from, to } of ranges) length += to - from;
    this.#perMs = perMs;
    this.#times = new Float64Array(length);
    this.#values = new Float64Array(length);
    this.#backfill = backfill;
  }

  /** Adds the rows of the next row group. */
  add({ group, runs, ranges, pages }: GroupRows, columns: StoredColumns, rowCount: number): void {
    const at = this.#count;
    const baseMs = flooredQuotient(runs.base, this.#perMs);
    const baseRest = Number(runs.base - BigInt(baseMs) * BigInt(this.#perMs));
    for (const [i, range] of ranges.entries()) {
      // The series of a target have the same times. Those at the ends may continue in other row groups.
      const isInner = i > 1 && i < ranges.length - 1;
      if (!isInner || !haveSameTimes(runs, ranges[i - 1], range)) {
        this.#timesFrom = this.#timeCount;
        copyTimes(this.#times, this.#timeCount, { runs, range, perMs: this.#perMs, baseMs, baseRest });
        this.#timeCount += range.to - range.from;
      }
      this.#timesAt.push(this.#timesFrom);
      this.#count += range.to - range.from;
    }
    const decoded = (name: keyof StoredColumns): DecodedRows | undefined => {
      const [column, bytes] = [columns[name], pages[name]];
      if (column === undefined || bytes === undefined) return undefined;
      return decodeGroup(bytes, column, group, rowCount, { from: ranges[0].from, to: ranges[ranges.length - 1].to });
    };
    // Each of them is valid until the next one is decoded.
    const values = columns.scaled === undefined ? decoded('value') : undefined;
    if (columns.scaled !== undefined) this.#addScaled(decoded, ranges, at);
    else if (values !== undefined) this.#addValues(values, greatestOf(columns.value, group), ranges, at);
    else if (this.#backfill !== undefined) this.#values.fill(this.#backfill, at, this.#count);
    else this.#marks().fill(MISSING, at, this.#count);
    const starts = decoded('start');
    if (starts !== undefined) {
      this.#starts ??= new Float64Array(this.#times.length);
      copyNumbers(this.#starts, at, starts, greatestOf(columns.start, group), ranges);
    }
    const ops = decoded('op');
    if (ops !== undefined) this.#addOps(ops, ranges, at);
  }

  /** Yields the rows of each series, in the order of the file. */
  *slices(groups: readonly GroupRows[]): Iterable<readonly [number, SampleSlice]> {
    let [sid, from, to, timesFrom, next] = [-1, 0, 0, 0, 0];
    for (const { ranges } of groups) {
      for (const range of ranges) {
        if (range.sid !== sid) {
          if (from < to) yield [sid, this.#slice(from, to, timesFrom)];
          [sid, from, timesFrom] = [range.sid, to, this.#timesAt[next]];
        }
        next++;
        to += range.to - range.from;
      }
    }
    if (from < to) yield [sid, this.#slice(from, to, timesFrom)];
  }

  #slice(from: number, to: number, timesFrom: number): SampleSlice {
    if (timesFrom !== this.#lastTimesFrom || to - from !== this.#lastTimes.length) {
      const times = this.#times.subarray(timesFrom, timesFrom + to - from);
      let isAscending = true;
      for (let i = 1; i < times.length; i++) if (times[i] <= times[i - 1]) isAscending = false;
      this.#lastTimes = times;
      this.#lastTimesFrom = timesFrom;
      this.#areLastAscending = isAscending;
    }
    return {
      times: this.#lastTimes,
      values: this.#values.subarray(from, to),
      missing: this.#missing?.subarray(from, to),
      histograms: undefined,
      starts: this.#starts?.subarray(from, to),
      isAscending: this.#areLastAscending,
    };
  }

  #addValues(rows: DecodedRows, greatest: bigint, ranges: readonly RowRange[], start: number): void {
    copyNumbers(this.#values, start, rows, greatest, ranges);
    const { present } = rows;
    if (present === undefined) return;
    let at = start;
    for (const { from, to } of ranges) {
      for (let row = from; row < to; row++, at++) if (present[row] === 0) this.#marks()[at] = MISSING;
    }
  }

  /** Adds values that are stored as quotients, and those of the other rows as they are. */
  #addScaled(
    decoded: (name: keyof StoredColumns) => DecodedRows | undefined,
    ranges: readonly RowRange[],
    start: number,
  ): void {
    const count = this.#count - start;
    const divisors = new Float64Array(count);
    const divisor = decoded('divisor');
    if (divisor !== undefined) copyNumbers(divisors, 0, divisor, 0n, ranges);
    const scaled = decoded('scaled');
    invariant(scaled !== undefined && divisor !== undefined, 'scaled column without pages');
    const { numbers, present } = scaled;
    const isPlain = present === undefined ? undefined : new Uint8Array(count);
    let at = 0;
    for (const { from, to } of ranges) {
      for (let row = from; row < to; row++, at++) {
        if (isPlain !== undefined && present?.[row] === 0) isPlain[at] = 1;
        else this.#values[start + at] = numbers[row] / divisors[at];
      }
    }
    const plain = isPlain === undefined ? undefined : decoded('value');
    if (isPlain !== undefined && plain !== undefined) this.#addPlain(plain, isPlain, ranges, start);
  }

  /** Adds the values of rows that have a mark. */
  #addPlain({ numbers, present }: DecodedRows, marks: Uint8Array, ranges: readonly RowRange[], start: number): void {
    let at = 0;
    for (const { from, to } of ranges) {
      for (let row = from; row < to; row++, at++) {
        if (marks[at] === 0) continue;
        if (present?.[row] === 0) this.#marks()[start + at] = MISSING;
        // As bytes, because an assignment may change the bits of NaN.
        else this.#values.set(numbers.subarray(row, row + 1), start + at);
      }
    }
  }

  #addOps({ numbers, base, present }: DecodedRows, ranges: readonly RowRange[], start: number): void {
    let at = start;
    const least = Number(base);
    for (const { from, to } of ranges) {
      for (let row = from; row < to; row++, at++) {
        const op = present?.[row] === 0 ? 0 : least + numbers[row];
        if (op === DELETED) this.#marks()[at] = MISSING | HIDES;
        else if (op === PUT_AFTER_DELETE) this.#marks()[at] |= HIDES;
      }
    }
  }

  #marks(): Uint8Array {
    return (this.#missing ??= new Uint8Array(this.#times.length));
  }
}

const NO_TIMES = new Float64Array(0);

/** Returns whether the rows of two runs have the same times; false if that would have to be searched. */
function haveSameTimes({ steps, first, rows }: Runs, one: RowRange, other: RowRange): boolean {
  const step = steps[one.run];
  return (
    step !== 0 &&
    steps[other.run] === step &&
    other.to - other.from === one.to - one.from &&
    first[one.run] + step * (one.from - rows[one.run]) === first[other.run] + step * (other.from - rows[other.run])
  );
}

interface TimesOfRange {
  readonly runs: Runs;
  readonly range: RowRange;
  readonly perMs: number;
  /** Milliseconds of the least time of the row group, and what is left of it in units of the column. */
  readonly baseMs: number;
  readonly baseRest: number;
}

/** Copies times as milliseconds, rounded down. Quotients of integers below 2^53 are rounded down exactly. */
function copyTimes(target: Float64Array, start: number, { runs, range, perMs, baseMs, baseRest }: TimesOfRange): void {
  const { run, from, to } = range;
  const step = runs.steps[run];
  const { times } = runs;
  let at = start;
  if (step === 0 && times !== undefined) {
    for (let row = from; row < to; row++) target[at++] = baseMs + Math.floor((baseRest + times[row]) / perMs);
    return;
  }
  const first = baseRest + runs.first[run] + step * (from - runs.rows[run]);
  const stepMs = step / perMs;
  if (Number.isInteger(stepMs)) {
    const firstMs = baseMs + Math.floor(first / perMs);
    for (let i = 0; i < to - from; i++) target[at++] = firstMs + i * stepMs;
    return;
  }
  for (let i = 0; i < to - from; i++) target[at++] = baseMs + Math.floor((first + i * step) / perMs);
}

function greatestOf(column: ColumnChunks | undefined, group: number): bigint {
  return column?.max?.[group] ?? 0n;
}

/** Copies numbers as the engine converts them to doubles. @param greatest of integers */
function copyNumbers(
  target: Float64Array,
  start: number,
  { numbers, base, present }: DecodedRows,
  greatest: bigint,
  ranges: readonly RowRange[],
): void {
  const isSafe = base >= BigInt(Number.MIN_SAFE_INTEGER) && greatest <= BigInt(Number.MAX_SAFE_INTEGER);
  const offset = Number(base);
  let at = start;
  for (const { from, to } of ranges) {
    if (base === 0n) target.set(numbers.subarray(from, to), at);
    else if (!isSafe) for (let i = 0; i < to - from; i++) target[at + i] = Number(base + BigInt(numbers[from + i]));
    else for (let i = 0; i < to - from; i++) target[at + i] = offset + numbers[from + i];
    // Where a row is null, the sum is the least value.
    if (present !== undefined && base !== 0n) {
      for (let i = 0; i < to - from; i++) if (present[from + i] === 0) target[at + i] = 0;
    }
    at += to - from;
  }
}
