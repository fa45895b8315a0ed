import { invariant } from '#shared/errors/invariant';
import type { RowBatch } from '#shared/rowbatch/row-batch';
import { dataType } from '#shared/schema/data-type';
import { HeldBatch, type TimeBand } from './held-batch.js';
import type { SeriesRegistry } from './series-registry.js';

/**
 * Rows that become segments together. While open, rows are added; once frozen, it waits for its flush or is being
 * flushed.
 */
export class Generation {
  readonly number: number;
  readonly openedMs: number;
  readonly batches: HeldBatch[] = [];
  /** Its rows have the sequences (sequenceFrom, sequenceTo]. */
  readonly sequenceFrom: bigint;
  sequenceTo: bigint;
  rowCount = 0;
  /** Size of the log's records with its rows. */
  logBytes = 0;
  /** When its first rows were added, milliseconds since 1970; undefined while there are none. */
  firstPutMs: number | undefined;
  /** Bytes of its arrays and objects, and of tags that are in no series file. */
  heldBytes = 0;
  /** Bytes of its rows and new series in the engine, where columns have their full width. Flush sizes refer to it. */
  engineBytes = 0;
  /** Series below this number have rows in it or in an earlier generation. */
  seriesCount = 0;
  /** Type of each column that it has values of, by column id. */
  readonly types = new Map<number, string>();
  /** Where rows may be newer versions of rows of this or an earlier generation. */
  late: TimeBand | undefined;
  /** Where rows may be newer versions of rows of an earlier generation. */
  lateToSealed: TimeBand | undefined;

  constructor(number: number, sequenceFrom: bigint, openedMs: number) {
    this.number = number;
    this.sequenceFrom = sequenceFrom;
    this.sequenceTo = sequenceFrom;
    this.openedMs = openedMs;
  }

  /** Returns whether the batch's columns have the same types as those of the rows here. */
  accepts({ columns }: RowBatch): boolean {
    return columns.every(({ columnId, type }) => (this.types.get(columnId) ?? type) === type);
  }

  /**
   * Adds a copy of a batch after the others and finds out which of its rows are late.
   *
   * @param sids series number of each entry of `batch.tsids`; not copied.
   */
  put(batch: RowBatch, sids: Uint32Array<ArrayBuffer>, sequenceFrom: bigint, registry: SeriesRegistry): HeldBatch {
    const lateness = noteTimes(batch, sids, registry);
    const times = lateness.all.band(batch.times);
    invariant(times !== undefined, 'a batch without rows');
    const held = new HeldBatch(batch, sids, { sequenceFrom, times, late: lateness.late.band(batch.times) });
    this.batches.push(held);
    for (const { columnId, type } of batch.columns) this.types.set(columnId, type);
    this.sequenceTo = held.sequenceTo;
    this.rowCount += batch.rowCount;
    this.heldBytes += held.bytes + objectBytes(batch);
    this.engineBytes += engineBytes(batch);
    for (let i = 0; i < sids.length; i++) if (sids[i] >= this.seriesCount) this.seriesCount = sids[i] + 1;
    this.late = union(this.late, held.late);
    this.lateToSealed = union(this.lateToSealed, lateness.lateToSealed.band(batch.times));
    return held;
  }

  /**
   * Counts a series that a record of one of its batches defines.
   *
   * @param bytes of its tags.
   */
  noteDefinition(sid: number, bytes: number): void {
    // Also a series without rows here: its definition must be published before the record with it is skipped.
    if (sid >= this.seriesCount) this.seriesCount = sid + 1;
    this.heldBytes += bytes;
    this.engineBytes += KEY_BYTES + bytes * DEFINITION_WIDTH;
  }
}

function engineBytes(batch: RowBatch): number {
  let rowBytes = KEY_BYTES;
  let textBytes = 0;
  for (const column of batch.columns) {
    rowBytes += dataType(column.type).widthBytes;
    if (column.kind === 'bytes') textBytes += column.bytes.length;
  }
  return batch.rowCount * rowBytes + textBytes;
}

/** Series number and time. */
const KEY_BYTES = 12;
/** Texts take 16 bytes more each in the engine. */
const DEFINITION_WIDTH = 2;

/** The rows with the least and the greatest time; -1 while there are none. */
class RowRange {
  firstRow = -1;
  lastRow = -1;
  #first = Infinity;
  #last = -Infinity;

  add(row: number, time: number): void {
    if (time < this.#first) {
      this.#first = time;
      this.firstRow = row;
    }
    if (time > this.#last) {
      this.#last = time;
      this.lastRow = row;
    }
  }

  /**
   * Returns a range that holds the times of all its rows. They were compared as doubles: beyond 2^53 the range is up to
   * `ROUNDING` wider than needed, which only costs pruning.
   */
  band(times: BigInt64Array): TimeBand | undefined {
    if (this.firstRow < 0) return undefined;
    const first = times[this.firstRow];
    const last = times[this.lastRow];
    if (first > -EXACT && last < EXACT) return { first, last };
    return {
      first: first - ROUNDING < TIME_MIN ? TIME_MIN : first - ROUNDING,
      last: last + ROUNDING > TIME_MAX ? TIME_MAX : last + ROUNDING,
    };
  }
}

/** Doubles are exact below it. */
const EXACT = 1n << 53n;
/** Integers that round to the same double differ at most by this, up to 2^63. */
const ROUNDING = 1024n;
const TIME_MIN = -(1n << 63n);
const TIME_MAX = (1n << 63n) - 1n;

interface Lateness {
  readonly all: RowRange;
  readonly late: RowRange;
  readonly lateToSealed: RowRange;
}

/** Advances the greatest time of each series, and finds late rows and the ends of the time range, in one pass. */
function noteTimes(batch: RowBatch, sids: Uint32Array, registry: SeriesRegistry): Lateness {
  const { rowCount, seriesIndex, times } = batch;
  const { putTimes, sealedTimes } = registry;
  const words = new Uint32Array(times.buffer, times.byteOffset, rowCount * 2);
  const highs = new Int32Array(times.buffer, times.byteOffset, rowCount * 2);
  const lateness = { all: new RowRange(), late: new RowRange(), lateToSealed: new RowRange() };
  for (let row = 0; row < rowCount; row++) {
    // Doubles suffice: rounding keeps the order, so a late row is never missed; equal after rounding counts as late.
    const time = highs[2 * row + 1] * 4294967296 + words[2 * row];
    const sid = sids[seriesIndex[row]];
    if (time <= putTimes[sid]) {
      lateness.late.add(row, time);
      if (time <= sealedTimes[sid]) lateness.lateToSealed.add(row, time);
    } else {
      putTimes[sid] = time;
    }
    lateness.all.add(row, time);
  }
  return lateness;
}

function union(a: TimeBand | undefined, b: TimeBand | undefined): TimeBand | undefined {
  if (a === undefined || b === undefined) return a ?? b;
  return { first: a.first < b.first ? a.first : b.first, last: a.last > b.last ? a.last : b.last };
}

/** Bytes of a batch, and of each of its columns, in the JavaScript heap besides their arrays. */
const BATCH_BYTES = 1_100;
const COLUMN_BYTES = 530;

/** Limit for all batches in memory. The heap has about 4 GiB at most, whatever the machine's memory. */
const OBJECTS_MAX = 1 << 30;

/** Returns the heap bytes of a batch's objects. For one row that is many times the bytes of its arrays. */
export function objectBytes({ columns }: RowBatch): number {
  return BATCH_BYTES + columns.length * COLUMN_BYTES;
}

/**
 * Returns the same as a charge to a memory budget, scaled so that the budget is used up when objects reach their limit.
 */
export function objectCharge(batch: RowBatch, limitBytes: number): number {
  return Math.ceil(objectBytes(batch) * Math.max(1, limitBytes / OBJECTS_MAX));
}
