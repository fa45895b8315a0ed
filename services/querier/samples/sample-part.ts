import type { Slices } from '#shared/clock/slices';
import type { Table } from '#shared/contracts/gen/common';
import type { ScanBatch } from '#shared/contracts/gen/ingester';
import { hasValue, type Column, type FixedColumn } from '#shared/rowbatch/column';
import type { RowBatch } from '#shared/rowbatch/row-batch';
import { dataType, type TimeUnit } from '#shared/schema/data-type';
import { DELETED, OP } from '#shared/schema/segment-columns';
import { fieldsOf, timeIndexOf } from '#shared/schema/table-schema';

import type { RowsPart } from '../snapshot/rows-layout.js';
import { DoubleBlocks, FlagBlocks, IntegerBlocks } from '../series/blocks.js';
import { Doubles, leadingNumbers, Integers } from '../series/growing.js';
import { isMetricTable, sampleFields } from './metric-table.js';
import { millisOf } from '../series/millis.js';
import { HIDES, MISSING, countUpTo, type SampleSlice, type SampleColumns } from './sample-slice.js';

/** Values of one field, by row. */
interface FieldValues {
  /** Numbers; 0 for rows without a value, and in columns of which only the presence of values is tracked. */
  readonly numbers: DoubleBlocks;
  /** 1 for rows without a value; undefined while all rows have one. */
  missing: FlagBlocks | undefined;
  /** Encoded histograms by row. */
  readonly bytes: Map<number, Uint8Array>;
}

/** Rows of one series in a part, in the order of arrival. Built on request; cached and extended only for long runs. */
interface SeriesRun {
  readonly rows: Integers;
  readonly times: Doubles;
  /** Values by column ID, for the columns read so far. */
  readonly numbers: Map<number, Doubles>;
  isAscending: boolean;
}

const ROWS_PER_YIELD = 65_536;
const NO_ROW = -1;
/** Number of rows from which a series' run is cached: there may be a million series of one row each. */
const KEPT_ROWS = 16;

/** Rows of one generation of a region in arrays. The rows of a series are a linked list from the newest to the oldest. */
export class SamplePart implements RowsPart {
  readonly generation: number;
  readonly sequenceFrom: bigint;
  sequenceTo: bigint;
  /** Tells the part from others, without its rows. */
  readonly identity = {};
  rowCount = 0;
  pins = 0;
  isObsolete = false;
  /** Lowest time of the rows in milliseconds. May include rows after those that a snapshot reads. */
  leastMs = Infinity;
  /** Highest time of the rows, likewise. */
  greatestMs = -Infinity;
  readonly #unit: TimeUnit;
  readonly #times = new DoubleBlocks();
  /** Previous row of the same series, by row. */
  readonly #previousRow = new IntegerBlocks();
  /** Newest row by series. */
  #newestRow = new Int32Array(0);
  readonly #fields = new Map<number, FieldValues>();
  /** Columns that the table had when the part was created. */
  readonly #known: ReadonlySet<number>;
  /** Columns whose values are stored: those that samples consist of. */
  readonly #read: ReadonlySet<number>;
  /** Whether the presence of values is tracked for the other columns, which metric tables need for each metric. */
  readonly #tracksPresence: boolean;
  /** Columns whose values were dropped. */
  readonly #leftOut = new Set<number>();
  /** 1 for rows that are deletions; undefined while there are none. */
  #deletions: FlagBlocks | undefined;
  readonly #runs = new Map<number, SeriesRun>();
  /** Row below which a set of series has no value of a column, by column and name of the set. */
  readonly #absentBelow = new Map<string, number>();

  constructor(table: Table, first: ScanBatch) {
    this.generation = first.generation;
    this.sequenceFrom = first.sequenceFrom;
    this.sequenceTo = first.sequenceFrom;
    this.#unit = dataType(timeIndexOf(table).type).timeUnit ?? 'ns';
    this.#known = new Set(fieldsOf(table).map(({ id }) => id));
    this.#read = readColumns(table);
    this.#tracksPresence = isMetricTable(table);
  }

  accepts(scanned: ScanBatch, batch: RowBatch): boolean {
    // A newer schema may read a column that is new to the part, so the batch needs a new part.
    const isKnown = (id: number): boolean => id === OP.id || this.#known.has(id) || this.#leftOut.has(id);
    return scanned.generation === this.generation && batch.columns.every(({ columnId }) => isKnown(columnId));
  }

  isOutdatedFor(table: Table): boolean {
    if (this.#leftOut.size === 0) return false;
    for (const id of readColumns(table)) if (this.#leftOut.has(id)) return true;
    return false;
  }

  async append(scanned: ScanBatch, batch: RowBatch, pause: () => Promise<void>): Promise<void> {
    const base = this.rowCount;
    const appended = new Set<number>();
    for (const column of batch.columns) {
      if (column.columnId === OP.id) {
        this.#markDeletions(column, base, batch.rowCount);
        continue;
      }
      const isRead = this.#isRead(column);
      if (!isRead) this.#leftOut.add(column.columnId);
      if (!isRead && !this.#tracksPresence) continue;
      const field = this.#fieldOf(column.columnId, base);
      appended.add(column.columnId);
      for (let from = 0; from < batch.rowCount; from += ROWS_PER_YIELD) {
        appendCells(field, { column, isRead, base, from, to: Math.min(from + ROWS_PER_YIELD, batch.rowCount) });
        if (batch.rowCount > ROWS_PER_YIELD) await pause();
      }
    }
    for (const [id, field] of this.#fields) {
      if (!appended.has(id)) padMissing(field, base + batch.rowCount);
    }
    this.#reserveSeries(scanned.sids);
    this.#times.extend(base + batch.rowCount);
    this.#previousRow.extend(base + batch.rowCount);
    for (let from = 0; from < batch.rowCount; from += ROWS_PER_YIELD) {
      if (from > 0) await pause();
      this.#link(scanned.sids, batch, base, from, Math.min(from + ROWS_PER_YIELD, batch.rowCount));
    }
    this.rowCount = base + batch.rowCount;
    this.sequenceTo = scanned.sequenceTo;
  }

  flush(): void {
    // Rows are readable as soon as they are counted.
  }

  /** Returns the newest row of a series below `rowCount`, which identifies its rows; -1 if there are none. */
  newestRow(sid: number, rowCount: number): number {
    let row = sid < this.#newestRow.length ? this.#newestRow[sid] : NO_ROW;
    while (row >= rowCount) row = this.#previousRow.get(row);
    return row;
  }

  /** Returns the rows of a series below `rowCount`; undefined if there are none. */
  sliceOf(sid: number, rowCount: number, columns: SampleColumns): SampleSlice | undefined {
    const run = this.#run(sid);
    if (run === undefined) return undefined;
    const count = countUpTo(run.rows.array, rowCount - 1, run.rows.length);
    if (count === 0) return undefined;
    const rows = leadingNumbers(run.rows.array, count);
    return {
      times: leadingNumbers(run.times.array, count),
      values: leadingNumbers(this.#numbers(run, columns.value), count),
      missing: this.#marks(columns.value, rows),
      histograms: bytesAt(columns.histogram === undefined ? undefined : this.#fields.get(columns.histogram), rows),
      starts:
        columns.start === undefined || !this.#fields.has(columns.start)
          ? undefined
          : leadingNumbers(this.#numbers(run, columns.start), count),
      isAscending: run.isAscending,
    };
  }

  /**
   * Reports whether a row of one of the series below `rowCount` has a value of the column.
   *
   * @param name cache key of the series: an equal name means the same series, or later a superset
   */
  has(name: string, sids: Int32Array, rowCount: number, columnId: number): boolean {
    const field = this.#fields.get(columnId);
    if (field === undefined) return false;
    const { bytes, missing, numbers } = field;
    if (bytes.size === 0 && numbers.length === 0) return false;
    const isThere = (row: number): boolean => bytes.has(row) || (row < numbers.length && missing?.get(row) !== 1);
    const key = `${columnId} ${name}`;
    const from = this.#absentBelow.get(key) ?? 0;
    for (const sid of sids) {
      for (let row = this.#newestRow[sid] ?? NO_ROW; row >= from; row = this.#previousRow.get(row)) {
        if (row < rowCount && isThere(row)) return true;
      }
    }
    this.#absentBelow.set(key, rowCount);
    return false;
  }

  /**
   * Returns the series that have no row below `rowCount` in the range, which includes both ends.
   *
   * @param slices yields between rows, of which there may be millions
   */
  async seriesWithoutRows(
    sids: Int32Array,
    rowCount: number,
    { fromMs, toMs }: { readonly fromMs: number; readonly toMs: number },
    slices: Slices,
  ): Promise<Int32Array> {
    const found = new Int32Array(sids.length);
    let count = 0;
    for (const sid of sids) {
      let row = this.#newestRow[sid] ?? NO_ROW;
      for (; row !== NO_ROW; row = this.#previousRow.get(row)) {
        const timeMs = this.#times.get(row);
        if (row < rowCount && timeMs >= fromMs && timeMs <= toMs) break;
        if (slices.isOver(1)) await slices.yield();
      }
      if (row === NO_ROW) found[count++] = sid;
      if (slices.isOver(1)) await slices.yield();
    }
    return found.subarray(0, count);
  }

  /** Text in a number column is not stored: the column was altered, even if the reader does not know that yet. */
  #isRead({ columnId, kind }: Column): boolean {
    return this.#read.has(columnId) && (this.#tracksPresence || kind === 'fixed');
  }

  #markDeletions(column: Column, base: number, rowCount: number): void {
    if (column.kind !== 'fixed') return;
    this.#deletions ??= new FlagBlocks();
    this.#deletions.extend(base + rowCount);
    for (let row = 0; row < rowCount; row++) {
      if (hasValue(column, row) && column.values[row] === DELETED) this.#deletions.set(base + row, 1);
    }
  }

  #marks(valueId: number, rows: Int32Array): Uint8Array | undefined {
    const marks = flagsAt(this.#fields.get(valueId), rows);
    const deletions = this.#deletions;
    if (deletions === undefined) return marks;
    const isDeletion = (row: number): boolean => row < deletions.length && deletions.get(row) === 1;
    return Uint8Array.from(rows, (row, i) => (isDeletion(row) ? MISSING | HIDES : (marks?.[i] ?? 0)));
  }

  #link(sids: readonly number[], batch: RowBatch, base: number, from: number, to: number): void {
    const words = new Int32Array(batch.times.buffer, batch.times.byteOffset, batch.rowCount * 2);
    let { leastMs, greatestMs } = this;
    for (let i = from; i < to; i++) {
      const sid = sids[batch.seriesIndex[i]];
      const timeMs = millisOf(words[2 * i] >>> 0, words[2 * i + 1], this.#unit);
      if (timeMs < leastMs) leastMs = timeMs;
      if (timeMs > greatestMs) greatestMs = timeMs;
      this.#times.set(base + i, timeMs);
      this.#previousRow.set(base + i, this.#newestRow[sid]);
      this.#newestRow[sid] = base + i;
    }
    this.leastMs = leastMs;
    this.greatestMs = greatestMs;
  }

  #reserveSeries(sids: readonly number[]): void {
    let end = 0;
    for (const sid of sids) if (sid >= end) end = sid + 1;
    if (end <= this.#newestRow.length) return;
    const next = new Int32Array(Math.max(end, this.#newestRow.length * 2)).fill(NO_ROW);
    next.set(this.#newestRow);
    this.#newestRow = next;
  }

  #fieldOf(columnId: number, base: number): FieldValues {
    let field = this.#fields.get(columnId);
    if (field === undefined) {
      field = { numbers: new DoubleBlocks(), missing: undefined, bytes: new Map() };
      this.#fields.set(columnId, field);
      padMissing(field, base);
    }
    return field;
  }

  #run(sid: number): SeriesRun | undefined {
    const newest = sid < this.#newestRow.length ? this.#newestRow[sid] : NO_ROW;
    if (newest === NO_ROW) return undefined;
    const kept = this.#runs.get(sid);
    const run = kept ?? { rows: new Integers(), times: new Doubles(), numbers: new Map(), isAscending: true };
    const { rows, times } = run;
    const last = rows.length === 0 ? NO_ROW : rows.array[rows.length - 1];
    if (last === newest) return run;
    let added = 0;
    for (let row = newest; row > last; row = this.#previousRow.get(row)) added++;
    const length = rows.length + added;
    rows.reserve(length);
    times.reserve(length);
    for (let row = newest, at = length - 1; row > last; row = this.#previousRow.get(row), at--) {
      rows.array[at] = row;
      times.array[at] = this.#times.get(row);
    }
    for (let at = Math.max(1, length - added); at < length; at++) {
      if (times.array[at] <= times.array[at - 1]) run.isAscending = false;
    }
    rows.length = length;
    times.length = length;
    if (kept === undefined && length >= KEPT_ROWS) this.#runs.set(sid, run);
    return run;
  }

  /** Returns the values of a column for all rows of a run. */
  #numbers(run: SeriesRun, columnId: number): Float64Array {
    let numbers = run.numbers.get(columnId);
    if (numbers === undefined) {
      numbers = new Doubles();
      run.numbers.set(columnId, numbers);
    }
    const source = this.#fields.get(columnId)?.numbers;
    numbers.reserve(run.rows.length);
    for (let at = numbers.length; at < run.rows.length; at++) {
      const row = run.rows.array[at];
      numbers.array[at] = source !== undefined && row < source.length ? source.get(row) : 0;
    }
    numbers.length = run.rows.length;
    return numbers.array;
  }
}

/** Returns the columns that samples consist of. */
function readColumns(table: Table): ReadonlySet<number> {
  const all = sampleFields(table).flatMap(({ columns }) => [columns.value, columns.histogram, columns.start]);
  return new Set(all.filter((id) => id !== undefined));
}

/** Cells `[from, to)` of a batch's column; the batch starts at row `base` of the part. */
interface Cells {
  readonly column: Column;
  readonly isRead: boolean;
  readonly base: number;
  readonly from: number;
  readonly to: number;
}

function appendCells(field: FieldValues, cells: Cells): void {
  const { column, isRead, base, from, to } = cells;
  if (isRead && column.kind === 'bytes') {
    for (let row = from; row < to; row++) {
      if (!hasValue(column, row)) continue;
      field.bytes.set(base + row, column.bytes.subarray(column.offsets[row], column.offsets[row + 1]));
    }
    return;
  }
  const { numbers } = field;
  numbers.extend(base + to);
  if (isRead && column.kind !== 'bytes') appendNumbers(numbers, column, base, from, to);
  if (column.validity === undefined) {
    field.missing?.extend(base + to);
    return;
  }
  field.missing ??= new FlagBlocks();
  field.missing.extend(base + to);
  for (let row = from; row < to; row++) if (!hasValue(column, row)) field.missing.set(base + row, 1);
}

function appendNumbers(
  numbers: DoubleBlocks,
  { type, values }: FixedColumn,
  base: number,
  from: number,
  to: number,
): void {
  if (values instanceof Float64Array) {
    numbers.setAll(values.subarray(from, to), base + from);
  } else if (type === 'UInt64' && values instanceof BigInt64Array) {
    for (let row = from; row < to; row++) numbers.set(base + row, Number(BigInt.asUintN(64, values[row])));
  } else {
    for (let row = from; row < to; row++) numbers.set(base + row, Number(values[row]));
  }
}

/** Marks the rows up to `length` that were not appended as missing. */
function padMissing(field: FieldValues, length: number): void {
  const from = field.numbers.length;
  if (from === length) return;
  field.missing ??= new FlagBlocks();
  field.missing.extend(length);
  field.missing.fill(1, from, length);
  field.numbers.extend(length);
}

function flagsAt(field: FieldValues | undefined, rows: Int32Array): Uint8Array | undefined {
  if (field === undefined) return new Uint8Array(rows.length).fill(1);
  const { missing } = field;
  if (missing === undefined) return undefined;
  return Uint8Array.from(rows, (row) => missing.get(row));
}

function bytesAt(field: FieldValues | undefined, rows: Int32Array): (Uint8Array | undefined)[] | undefined {
  if (field === undefined || field.bytes.size === 0) return undefined;
  return Array.from(rows, (row) => field.bytes.get(row));
}
