import type { Table } from '#shared/contracts/gen/common';
import type { ScanBatch } from '#shared/contracts/gen/ingester';
import { fromDuckDb } from '#shared/duckdb/errors';
import type { AlmanacError } from '#shared/errors/almanac-error';
import type { RowBatch } from '#shared/rowbatch/row-batch';
import { dataType } from '#shared/schema/data-type';
import { fieldsOf, isAppendOnly, timeIndexOf } from '#shared/schema/table-schema';

import type { Band } from '#shared/segments/bands';
import { BatchBands } from './batch-bands.js';
import { PartTable, type PartTableDeps } from './part-table.js';
import type { RowsPart } from './rows-layout.js';

/** What is kept of a batch as arrays. */
export type BatchRows = Pick<RowBatch, 'rowCount' | 'times' | 'columns'>;

/** Rows of a part as they arrived, without columns of bytes, which kernels do not read. */
export interface FreshBatch {
  /** Series number of each row. */
  readonly sids: Uint32Array<ArrayBuffer>;
  readonly rows: BatchRows;
  /** Whether these are all columns of the batch. */
  readonly isWhole: boolean;
  /** A range that has all times. */
  readonly times: Band;
}

/** Where the rows of parts are kept. */
export interface FreshPartDeps extends PartTableDeps {
  /** Memory for rows that are kept as arrays; undefined: all go to the engine at once. */
  readonly batchMemory?: BatchMemory | undefined;
}

/** Memory for rows as arrays, which all parts share. */
export interface BatchMemory {
  bytesLeft: number;
}

/**
 * Unflushed rows of one generation of a region, in the order of their sequences: as arrays, which kernels read, and as a
 * table `(sid, time, f<column id> ..)` of the query instance, whose `rowid` orders versions. The table gets the rows when a
 * query of the engine needs them, or when they are not kept as arrays.
 *
 * A table with rows is never altered, so a schema change starts a new part.
 */
export class FreshPart implements RowsPart {
  readonly generation: number;
  readonly fieldIds: ReadonlySet<number>;
  /** Types of the stored fields by column ID. */
  readonly types: ReadonlyMap<number, string>;
  readonly sequenceFrom: bigint;
  sequenceTo: bigint;
  /** Number of readable rows; it can grow while a query runs. */
  rowCount = 0;
  times: Band | undefined;
  /** Times at which the part may have several versions of a row. */
  late: Band | undefined;
  /** Times of late rows, of which segments or other parts may have another version. */
  lateToOthers: Band | undefined;
  /** Undefined: rows have no versions, and never will: `append_mode` cannot be switched off. */
  readonly #times: BatchBands | undefined;
  /** Number of snapshots that read the part. */
  pins = 0;
  /** Columns of appended rows that the schema did not have when the part was created. */
  readonly #leftOut = new Set<number>();
  isObsolete = false;
  readonly #table: PartTable;
  #batches: FreshBatch[] | undefined;
  #batchBytes = 0;
  readonly #batchMemory: BatchMemory | undefined;
  /** Number of first batches whose rows the engine's table has, and number of rows that it has of the next one. */
  #filledBatches = 0;
  #filledRows = 0;
  /** Whether rows that only the table has are not visible yet. */
  #isUnflushed = false;
  /** Why the last fill failed: until the next one, the table may lack rows of those batches. */
  #fillFailure: AlmanacError | undefined;
  /** End of the last write to the engine's table: writes run one after the other. */
  #writes: Promise<void> = Promise.resolve();
  /** Why rows that are not kept as arrays could not be written. */
  #failure: AlmanacError | undefined;
  readonly #releases: (() => void)[] = [];

  /** Makes an empty part for `first` and the batches after it. @param table schema with the types of the rows. */
  constructor(relation: string, table: Table, first: ScanBatch, deps: FreshPartDeps) {
    const fields = fieldsOf(table);
    const time = dataType(timeIndexOf(table).type);
    this.generation = first.generation;
    this.fieldIds = new Set(fields.map(({ id }) => id));
    this.types = new Map(fields.map(({ id, type }) => [id, type]));
    this.sequenceFrom = first.sequenceFrom;
    this.sequenceTo = first.sequenceFrom;
    this.#times = isAppendOnly(table) ? undefined : new BatchBands();
    const columns = {
      timeType: time.duckdb,
      timeUnit: time.timeUnit ?? 'ns',
      fields: fields.map(({ id, type }) => ({ id, type: dataType(type).duckdb })),
    };
    this.#table = new PartTable(relation, columns, deps);
    this.#batches = deps.batchMemory === undefined ? undefined : [];
    this.#batchMemory = deps.batchMemory;
  }

  /** Name of the engine's table, which has all rows after `fillTable`. */
  get relation(): string {
    return this.#table.relation;
  }

  /** The rows as arrays; undefined if they are not kept. */
  get batches(): readonly FreshBatch[] | undefined {
    return this.#batches;
  }

  /** Registers a function that releases what was made of the batches; it is called at once if there are none any more. */
  onRelease(release: () => void): void {
    if (this.#batches === undefined) release();
    else this.#releases.push(release);
  }

  /** Reports whether the part can store the rows of the batch. */
  accepts(scanned: ScanBatch, batch: RowBatch): boolean {
    if (scanned.generation !== this.generation) return false;
    return batch.columns.every(({ columnId, type }) => this.types.get(columnId) === type);
  }

  /** Reports whether the part must be read again: it lacks rows of a failed write, or it dropped values of columns that `table` has now. */
  isOutdatedFor(table: Table): boolean {
    if (this.#failure !== undefined) return true;
    return this.#leftOut.size > 0 && fieldsOf(table).some((column) => this.#leftOut.has(column.id));
  }

  /**
   * Appends rows; the engine may read those that are in its table after `flush`.
   *
   * @param pause yields to the event loop
   */
  async append(scanned: ScanBatch, batch: RowBatch, pause: () => Promise<void>): Promise<void> {
    for (const { columnId } of batch.columns) if (!this.fieldIds.has(columnId)) this.#leftOut.add(columnId);
    const sids = new Uint32Array(batch.rowCount);
    for (let row = 0; row < sids.length; row++) sids[row] = scanned.sids[batch.seriesIndex[row]];
    const times = { first: scanned.timeFirst, last: scanned.timeLast };
    const { rowCount, columns } = batch;
    const kept = columns.filter(({ kind }) => kind !== 'bytes');
    const isWhole = kept.length === columns.length;
    const fresh = { sids, rows: { rowCount, times: batch.times, columns: kept }, isWhole, times };
    const isKept = this.#charge(fresh);
    if (!isKept || !isWhole) await this.#write(() => this.#appendToTable(sids, batch, pause));
    if (isKept) this.#batches?.push(fresh);
    else this.#dropBatches();
    this.rowCount += rowCount;
    this.sequenceTo = scanned.sequenceTo;
    this.times = widen(this.times, times);
    if (this.#times !== undefined) this.#noteTimes(scanned, batch, this.#times);
  }

  /** Finds out whether the part may have another version of late rows: batches of concurrent clients are often out of order. */
  #noteTimes(scanned: ScanBatch, batch: RowBatch, times: BatchBands): void {
    if (scanned.hasLate) {
      const late = { first: scanned.lateFirst, last: scanned.lateLast };
      this.lateToOthers = widen(this.lateToOthers, late);
      if (times.touch(late) || !isAscending(batch, scanned.sids)) this.late = widen(this.late, late);
    }
    times.add({ first: scanned.timeFirst, last: scanned.timeLast });
  }

  flush(): void {
    // What a fill has appended so far becomes visible at its end, and an error is one of its query.
    if (this.#isUnflushed) this.#table.flush();
    this.#isUnflushed = false;
  }

  /**
   * Passes all rows to the engine's table that it does not have. After an error, as for lack of memory, the rows are still
   * there as arrays, and the next call continues.
   *
   * @param pause yields to the event loop
   */
  fillTable(pause: () => Promise<void>): Promise<void> {
    return this.#write(() => this.#fill(pause));
  }

  noteObsolete(): void {
    const isFilled = this.#fillFailure === undefined && this.#filledBatches === this.#batches?.length;
    if (isFilled) this.#dropBatches();
  }

  /** Drops all rows. Never rejects. */
  drop(): Promise<void> {
    this.#dropBatches();
    return this.#writes.then(() => this.#table.drop());
  }

  /** Reserves memory to keep rows as arrays. @returns whether there is enough. */
  #charge(batch: FreshBatch): boolean {
    const memory = this.#batchMemory;
    if (this.#batches === undefined || memory === undefined) return false;
    const bytes = bytesOf(batch);
    if (memory.bytesLeft < bytes) return false;
    memory.bytesLeft -= bytes;
    this.#batchBytes += bytes;
    return true;
  }

  #dropBatches(): void {
    if (this.#batches === undefined) return;
    this.#batches = undefined;
    if (this.#batchMemory !== undefined) this.#batchMemory.bytesLeft += this.#batchBytes;
    this.#batchBytes = 0;
    for (const release of this.#releases.splice(0)) release();
  }

  #write(work: () => Promise<void>): Promise<void> {
    const written = this.#writes.then(async () => {
      if (this.#failure !== undefined) throw this.#failure;
      try {
        await work();
      } catch (error) {
        throw fromDuckDb(error);
      }
    });
    this.#writes = written.catch(() => undefined);
    return written;
  }

  /** Writes a batch of which the table alone has all columns. */
  async #appendToTable(sids: Uint32Array<ArrayBuffer>, batch: RowBatch, pause: () => Promise<void>): Promise<void> {
    try {
      await this.#fill(pause);
      this.#isUnflushed = true;
      await this.#table.append(sids, batch, pause);
      this.#filledBatches++;
    } catch (error) {
      this.#failure = fromDuckDb(error);
      throw error;
    }
  }

  async #fill(pause: () => Promise<void>): Promise<void> {
    const batches = this.#batches ?? [];
    if (this.#fillFailure !== undefined) await this.#recover(batches, this.#fillFailure);
    if (this.#filledBatches >= batches.length) return;
    try {
      while (this.#filledBatches < batches.length) {
        const { sids, rows } = batches[this.#filledBatches];
        await this.#table.append(sids, rows, pause, this.#filledRows);
        this.#filledRows = 0;
        this.#filledBatches++;
      }
      this.#table.flush();
    } catch (error) {
      this.#table.discardPending();
      this.#fillFailure = fromDuckDb(error);
      throw this.#fillFailure;
    }
    if (this.isObsolete) this.noteObsolete();
  }

  /** Finds out which rows the table has after a fill failed. */
  async #recover(batches: readonly FreshBatch[], failure: AlmanacError): Promise<void> {
    let rows = await this.#table.visibleCount();
    let filled = 0;
    for (; filled < batches.length && rows >= batches[filled].rows.rowCount; filled++) {
      rows -= batches[filled].rows.rowCount;
    }
    if (batches.slice(filled, this.#filledBatches).some(({ isWhole }) => !isWhole)) {
      this.#failure = failure;
      throw failure;
    }
    this.#filledBatches = filled;
    this.#filledRows = rows;
    this.#fillFailure = undefined;
  }
}

/** Reports whether the times of each series ascend, so that no row has several versions; false if a series is listed twice. */
function isAscending({ rowCount, seriesIndex, times }: RowBatch, sids: readonly number[]): boolean {
  if (new Set(sids).size < sids.length) return false;
  const lastRows = new Int32Array(sids.length).fill(-1);
  for (let row = 0; row < rowCount; row++) {
    const before = lastRows[seriesIndex[row]];
    if (before >= 0 && times[row] <= times[before]) return false;
    lastRows[seriesIndex[row]] = row;
  }
  return true;
}

function bytesOf({ sids, rows }: FreshBatch): number {
  let bytes = sids.byteLength + rows.times.byteLength;
  for (const column of rows.columns) {
    if (column.kind === 'fixed') bytes += column.values.byteLength + (column.validity?.byteLength ?? 0);
  }
  return bytes;
}

function widen(band: Band | undefined, other: Band): Band {
  if (band === undefined) return other;
  return {
    first: band.first < other.first ? band.first : other.first,
    last: band.last > other.last ? band.last : other.last,
  };
}
