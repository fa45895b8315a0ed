import { padded } from '#shared/bytes/padded';
import type { Column, FixedValues } from '#shared/rowbatch/column';
import type { RowBatch } from '#shared/rowbatch/row-batch';
import { identityIndex, isIdentity } from '#shared/rowbatch/row-keys';

import { holdTimes, type HeldTimes } from './held-times.js';
import type { SeriesRegistry } from './series-registry.js';

/** A range of time index values, both ends included. */
export interface TimeBand {
  readonly first: bigint;
  readonly last: bigint;
}

/** What is known of a batch besides its rows. */
export interface BatchFacts {
  readonly sequenceFrom: bigint;
  readonly times: TimeBand;
  /** Where its rows may be newer versions of rows put earlier. */
  readonly late: TimeBand | undefined;
}

type IndexArray = Uint8Array<ArrayBuffer> | Uint16Array<ArrayBuffer> | Uint32Array<ArrayBuffer>;
interface IndexArrayType {
  new (buffer: ArrayBuffer, byteOffset: number, length: number): IndexArray;
  readonly BYTES_PER_ELEMENT: number;
}

type Bytes = FixedValues;

/**
 * A batch in memory: a copy of its rows in as few bytes as they need, since a memtable has thousands of batches. Series
 * IDs are left out, because the registry knows them by number; a sample of a scrape takes 12 bytes instead of 32.
 */
export class HeldBatch {
  readonly rowCount: number;
  readonly columns: readonly Column[];
  readonly sequenceFrom: bigint;
  readonly sequenceTo: bigint;
  readonly times: TimeBand;
  readonly late: TimeBand | undefined;
  readonly rowTimes: HeldTimes;
  /** Bytes of its arrays. */
  readonly bytes: number;
  readonly #sids: HeldSids;
  /** By row: position in `#sids`; undefined: the number of the row. */
  readonly #seriesIndex: IndexArray | undefined;

  /** @param sids numbers of `batch.tsids`; kept or copied, while all other arrays are copied. */
  constructor(batch: RowBatch, sids: Uint32Array<ArrayBuffer>, { sequenceFrom, times, late }: BatchFacts) {
    const { rowCount, columns, seriesIndex } = batch;
    this.rowCount = rowCount;
    this.#sids = new HeldSids(sids);
    this.sequenceFrom = sequenceFrom;
    this.sequenceTo = sequenceFrom + BigInt(rowCount);
    this.times = times;
    this.late = late;
    this.rowTimes = holdTimes(batch.times);
    const Index = isIdentity(seriesIndex) ? undefined : indexArray(sids.length);
    const packed = new PackedArrays(columns, Index === undefined ? 0 : rowCount * Index.BYTES_PER_ELEMENT);
    this.columns = columns.map((column) => packed.column(column));
    if (Index !== undefined) {
      this.#seriesIndex = packed.space(Index, rowCount);
      this.#seriesIndex.set(seriesIndex);
    }
    this.bytes = packed.bytes + this.rowTimes.bytes + this.#sids.bytes;
  }

  /** Writes the series numbers of the rows `[from, to)` to the start of `target`. */
  readSids(from: number, to: number, target: Uint32Array): void {
    const index = this.#seriesIndex;
    if (index === undefined) return this.#sids.read(from, to, target);
    const sids = this.sids();
    for (let row = from; row < to; row++) target[row - from] = sids[index[row]];
  }

  /** Returns the numbers of its series; a number may occur twice. */
  sids(): Uint32Array {
    return this.#sids.all();
  }

  /** Returns the rows as they came. @param registry of the batch's region. */
  rows(registry: SeriesRegistry): RowBatch {
    const { rowCount, columns } = this;
    const index = this.#seriesIndex ?? identityIndex(rowCount);
    return {
      rowCount,
      tsids: registry.tsidsOf(this.sids()),
      seriesIndex: index instanceof Uint32Array ? index : Uint32Array.from(index),
      times: this.rowTimes.all(),
      columns,
    };
  }
}

/** Runs are shorter to read than numbers up to this share of them. */
const RUN_SHARE_MAX = 0.125;

/** Numbers of series: senders repeat the order in which they were assigned, so most batches are a few runs of them. */
class HeldSids {
  readonly #length: number;
  /** All of them; undefined: in runs. */
  readonly #each: Uint32Array<ArrayBuffer> | undefined;
  /** The first number of each run, and one past the last of its positions, alternating. */
  readonly #runs: Uint32Array<ArrayBuffer>;

  /** @param sids kept, or copied to runs. */
  constructor(sids: Uint32Array<ArrayBuffer>) {
    const { length } = sids;
    const runsMax = Math.floor(length * RUN_SHARE_MAX);
    let runs = 1;
    for (let i = 1; i < length && runs <= runsMax; i++) if (sids[i] !== sids[i - 1] + 1) runs++;
    this.#length = length;
    this.#each = runs > runsMax ? sids : undefined;
    this.#runs = new Uint32Array(runs > runsMax ? 0 : 2 * runs);
    if (runs > runsMax) return;
    let run = 0;
    for (let i = 0; i < length; i++) {
      if (i > 0 && sids[i] !== sids[i - 1] + 1) run++;
      if (i === 0 || sids[i] !== sids[i - 1] + 1) this.#runs[2 * run] = sids[i];
      this.#runs[2 * run + 1] = i + 1;
    }
  }

  get bytes(): number {
    return this.#each?.byteLength ?? this.#runs.byteLength;
  }

  all(): Uint32Array {
    if (this.#each !== undefined) return this.#each;
    const sids = new Uint32Array(this.#length);
    this.read(0, this.#length, sids);
    return sids;
  }

  /** Writes those at the positions `[from, to)` to the start of `target`. */
  read(from: number, to: number, target: Uint32Array): void {
    if (this.#each !== undefined) return target.set(this.#each.subarray(from, to));
    const runs = this.#runs;
    let begin = 0;
    for (let run = 0; begin < to; run += 2) {
      const end = runs[run + 1];
      const stop = Math.min(end, to);
      for (let i = Math.max(begin, from); i < stop; i++) target[i - from] = runs[run] + (i - begin);
      begin = end;
    }
  }
}

/** Copies of arrays in one block of memory: a thousand small blocks would take more memory than their rows. */
class PackedArrays {
  readonly bytes: number;
  readonly #buffer: ArrayBuffer;
  #at = 0;

  constructor(columns: readonly Column[], otherBytes: number) {
    let bytes = padded(otherBytes);
    for (const column of columns) for (const array of arraysOf(column)) bytes += padded(array.byteLength);
    this.bytes = bytes;
    this.#buffer = Buffer.allocUnsafeSlow(bytes).buffer;
  }

  column(column: Column): Column {
    const validity = column.validity === undefined ? undefined : this.#copy(column.validity);
    if (column.kind === 'fixed') return { ...column, validity, values: this.#copy(column.values) };
    return { ...column, validity, offsets: this.#copy(column.offsets), bytes: this.#copy(column.bytes) };
  }

  /** Returns an array with any contents. */
  space(Index: IndexArrayType, length: number): IndexArray {
    const array = new Index(this.#buffer, this.#at, length);
    this.#at += padded(array.byteLength);
    return array;
  }

  #copy<T extends Bytes>({ buffer, byteOffset, byteLength, length, constructor }: T): T {
    const at = this.#at;
    new Uint8Array(this.#buffer, at, byteLength).set(new Uint8Array(buffer, byteOffset, byteLength));
    this.#at += padded(byteLength);
    return new (constructor as new (target: ArrayBuffer, from: number, count: number) => T)(this.#buffer, at, length);
  }
}

function arraysOf(column: Column): Bytes[] {
  const validity = column.validity === undefined ? [] : [column.validity];
  return column.kind === 'fixed' ? [...validity, column.values] : [...validity, column.offsets, column.bytes];
}

function indexArray(length: number): IndexArrayType {
  if (length <= 1 << 8) return Uint8Array;
  return length <= 1 << 16 ? Uint16Array : Uint32Array;
}
