import type { RowBatch } from '#shared/rowbatch/row-batch';
import { batchBytes } from '#shared/rowbatch/row-batch';
import { dataType } from '#shared/schema/data-type';
import type { SeriesRegistry } from './series-registry.js';

/** A range of time index values, both ends included. */
export interface TimeBand {
  readonly first: bigint;
  readonly last: bigint;
}

/** A batch as it lies in memory. */
export interface HeldBatch {
  readonly batch: RowBatch;
  /** Series number of each entry of `batch.tsids`. */
  readonly sids: Uint32Array<ArrayBuffer>;
  readonly sequenceFrom: bigint;
  readonly sequenceTo: bigint;
  readonly times: TimeBand;
  /** Where rows of it may be newer versions of rows put earlier. */
  readonly late: TimeBand | undefined;
}

/** Rows that become segments together. Open: rows are added. Frozen: it waits for, or is in, its flush. */
export class Generation {
  readonly number: number;
  readonly openedMs: number;
  readonly batches: HeldBatch[] = [];
  /** Rows are those of (sequenceFrom, sequenceTo]. */
  readonly sequenceFrom: bigint;
  sequenceTo: bigint;
  rowCount = 0;
  /** Bytes of its arrays. */
  heldBytes = 0;
  /** Bytes of its rows in the engine, where columns have their full width; what flush is measured by. */
  engineBytes = 0;
  /** Series below this number have rows in it or in an earlier one. */
  seriesCount = 0;
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

  /**
   * Adds a batch behind the others and tells which of its rows are late.
   *
   * @param sids series number of each entry of `batch.tsids`.
   */
  put(batch: RowBatch, sids: Uint32Array<ArrayBuffer>, sequenceFrom: bigint, registry: SeriesRegistry): HeldBatch {
    const lateness = noteTimes(batch, sids, registry);
    const held: HeldBatch = {
      batch,
      sids,
      sequenceFrom,
      sequenceTo: sequenceFrom + BigInt(batch.rowCount),
      times: bandAround(batch.times, lateness.firstRow, lateness.lastRow),
      late: lateBand(batch, lateness.late),
    };
    this.batches.push(held);
    this.sequenceTo = held.sequenceTo;
    this.rowCount += batch.rowCount;
    this.heldBytes += batchBytes(batch) + sids.byteLength;
    this.engineBytes += engineBytes(batch);
    for (let i = 0; i < sids.length; i++) if (sids[i] >= this.seriesCount) this.seriesCount = sids[i] + 1;
    this.late = union(this.late, held.late);
    this.lateToSealed = union(this.lateToSealed, lateBand(batch, lateness.lateToSealed));
    return held;
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

interface Lateness {
  /** Rows with the least and the greatest time. */
  firstRow: number;
  lastRow: number;
  /** Late rows; empty almost always. */
  late: number[];
  lateToSealed: number[];
}

/** One pass over the rows: moves the series' greatest times on, and finds late rows and the ends of the time range. */
function noteTimes(batch: RowBatch, sids: Uint32Array, registry: SeriesRegistry): Lateness {
  const { rowCount, seriesIndex, times } = batch;
  const { putTimes, sealedTimes } = registry;
  const words = new Uint32Array(times.buffer, times.byteOffset, rowCount * 2);
  const highs = new Int32Array(times.buffer, times.byteOffset, rowCount * 2);
  const lateness: Lateness = { firstRow: 0, lastRow: 0, late: [], lateToSealed: [] };
  let first = Infinity;
  let last = -Infinity;
  for (let row = 0; row < rowCount; row++) {
    // Doubles suffice: rounding keeps the order, so a late row is never missed; equal after rounding counts as late.
    const time = highs[2 * row + 1] * 4294967296 + words[2 * row];
    const sid = sids[seriesIndex[row]];
    if (time <= putTimes[sid]) {
      lateness.late.push(row);
      if (time <= sealedTimes[sid]) lateness.lateToSealed.push(row);
    } else {
      putTimes[sid] = time;
    }
    if (time < first) {
      first = time;
      lateness.firstRow = row;
    }
    if (time > last) {
      last = time;
      lateness.lastRow = row;
    }
  }
  return lateness;
}

/**
 * A range that holds all times, found by their doubles: beyond 2^53 it is up to `ROUNDING` wider than needed, which
 * only costs pruning.
 */
function bandAround(times: BigInt64Array, firstRow: number, lastRow: number): TimeBand {
  const first = times[firstRow] - ROUNDING;
  const last = times[lastRow] + ROUNDING;
  return { first: first < TIME_MIN ? TIME_MIN : first, last: last > TIME_MAX ? TIME_MAX : last };
}

/** Integers that round to the same double lie at most this far apart, up to 2^63. */
const ROUNDING = 1024n;
const TIME_MIN = -(1n << 63n);
const TIME_MAX = (1n << 63n) - 1n;

function lateBand(batch: RowBatch, rows: readonly number[]): TimeBand | undefined {
  if (rows.length === 0) return undefined;
  let first = batch.times[rows[0]];
  let last = first;
  for (const row of rows) {
    const time = batch.times[row];
    if (time < first) first = time;
    if (time > last) last = time;
  }
  return { first, last };
}

function union(a: TimeBand | undefined, b: TimeBand | undefined): TimeBand | undefined {
  if (a === undefined || b === undefined) return a ?? b;
  return { first: a.first < b.first ? a.first : b.first, last: a.last > b.last ? a.last : b.last };
}
