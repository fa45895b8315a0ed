import type { Table } from '#shared/contracts/gen/common';
import type { ScanBatch } from '#shared/contracts/gen/ingester';
import { CHUNK_ROWS, ChunkWriter, type ChunkColumn } from '#shared/duckdb/chunk-writer';
import type { DuckDBConnection } from '#shared/duckdb/engine';
import type { RowBatch } from '#shared/rowbatch/row-batch';
import { dataType } from '#shared/schema/data-type';
import { fieldsOf, timeIndexOf } from '#shared/schema/table-schema';

import type { Band } from '#shared/segments/bands';
import type { RowsPart } from './rows-layout.js';

/** What is kept of a batch for kernels. */
export type BatchRows = Pick<RowBatch, 'rowCount' | 'times' | 'columns'>;

/** Rows of a part as they arrived, without columns of bytes, which kernels do not read. */
export interface FreshBatch {
  /** Series number of each row. */
  readonly sids: Uint32Array;
  readonly rows: BatchRows;
  /** A range that has all times. */
  readonly times: Band;
}

/** Where the rows of parts are kept. */
interface FreshPartDeps {
  readonly connection: DuckDBConnection;
  readonly appending: DuckDBConnection;
  /** Memory for rows that are kept as arrays, too, for kernels; undefined: none are. */
  readonly batchMemory?: BatchMemory | undefined;
}

/** Memory for rows as arrays, which all parts share. */
export interface BatchMemory {
  bytesLeft: number;
}

const NULLS: ChunkColumn = { kind: 'null' };
/** Cells that are appended between two yields to the event loop: about 10 ms. */
const CELLS_PER_YIELD = 300_000;

/**
 * Unflushed rows of one generation of a region, as a table `(sid, time, f<column id> ..)` of the query instance. Rows are in
 * the order of their sequences, so `rowid` orders versions.
 *
 * A table with rows is never altered, so a schema change starts a new part.
 */
export class FreshPart implements RowsPart {
  readonly relation: string;
  readonly generation: number;
  readonly fieldIds: ReadonlySet<number>;
  /** Types of the stored fields by column ID. */
  readonly types: ReadonlyMap<number, string>;
  readonly sequenceFrom: bigint;
  sequenceTo: bigint;
  /** Number of readable rows; it can grow while a query runs. */
  rowCount = 0;
  times: Band | undefined;
  late: Band | undefined;
  /** Number of snapshots that read the part. */
  pins = 0;
  /** Columns of appended rows that the schema did not have when the part was created. */
  readonly #leftOut = new Set<number>();
  isObsolete = false;
  #batches: FreshBatch[] | undefined;
  #batchBytes = 0;
  #batchMemory: BatchMemory | undefined;
  readonly #releases: (() => void)[] = [];
  readonly #writer: ChunkWriter;
  readonly #fieldOrder: readonly number[];
  readonly #unit: string;

  private constructor(relation: string, table: Table, first: ScanBatch, writer: ChunkWriter) {
    this.relation = relation;
    this.generation = first.generation;
    this.#fieldOrder = fieldsOf(table).map((column) => column.id);
    this.fieldIds = new Set(this.#fieldOrder);
    this.types = new Map(fieldsOf(table).map(({ id, type }) => [id, type]));
    this.sequenceFrom = first.sequenceFrom;
    this.sequenceTo = first.sequenceFrom;
    this.#writer = writer;
    this.#unit = dataType(timeIndexOf(table).type).timeUnit ?? 'ns';
  }

  /** Creates an empty part for `first` and the batches after it. @param table schema with the types of the rows. */
  static async create(
    { connection, appending, batchMemory }: FreshPartDeps,
    relation: string,
    table: Table,
    first: ScanBatch,
  ): Promise<FreshPart> {
    const time = `time ${dataType(timeIndexOf(table).type).duckdb}`;
    const fields = fieldsOf(table).map((column) => `f${column.id} ${dataType(column.type).duckdb}`);
    await connection.run(`CREATE TABLE ${relation} (${['sid UINTEGER', time, ...fields].join(', ')})`);
    const part = new FreshPart(relation, table, first, await ChunkWriter.open(appending, relation));
    part.#batches = batchMemory === undefined ? undefined : [];
    part.#batchMemory = batchMemory;
    return part;
  }

  /** The rows as arrays, until they are flushed; undefined then. */
  get batches(): readonly FreshBatch[] | undefined {
    return this.#batches;
  }

  /** Running queries have the table: arrays would only add to the memory of the process until the last of them ends. */
  noteFlush(): void {
    this.#batches = undefined;
    if (this.#batchMemory !== undefined) this.#batchMemory.bytesLeft += this.#batchBytes;
    this.#batchBytes = 0;
    for (const release of this.#releases.splice(0)) release();
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

  /** Reports whether `table` has columns whose values the part dropped as unknown. */
  isOutdatedFor(table: Table): boolean {
    return this.#leftOut.size > 0 && fieldsOf(table).some((column) => this.#leftOut.has(column.id));
  }

  /**
   * Appends rows; they are readable after `flush`.
   *
   * @param pause yields to the event loop; awaited between chunks, because a batch can have hundreds of thousands of rows
   */
  async append(scanned: ScanBatch, batch: RowBatch, pause: () => Promise<void>): Promise<void> {
    const byId = new Map(batch.columns.map((column) => [column.columnId, column]));
    for (const id of byId.keys()) if (!this.fieldIds.has(id)) this.#leftOut.add(id);
    const rowSids = new Uint32Array(batch.rowCount);
    for (let row = 0; row < rowSids.length; row++) rowSids[row] = scanned.sids[batch.seriesIndex[row]];
    const columns: ChunkColumn[] = [
      { kind: 'u32', values: rowSids },
      { kind: 'time', unit: this.#unit, values: batch.times },
      ...this.#fieldOrder.map((id): ChunkColumn => {
        const column = byId.get(id);
        return column === undefined ? NULLS : { kind: 'column', column };
      }),
    ];
    let sinceYield = 0;
    for (let from = 0; from < batch.rowCount; from += CHUNK_ROWS) {
      this.#writer.append(columns, from, Math.min(from + CHUNK_ROWS, batch.rowCount));
      sinceYield += CHUNK_ROWS * columns.length;
      if (sinceYield < CELLS_PER_YIELD) continue;
      sinceYield = 0;
      await pause();
    }
    const times = { first: scanned.timeFirst, last: scanned.timeLast };
    this.#keep({
      sids: rowSids,
      rows: {
        rowCount: batch.rowCount,
        times: batch.times,
        columns: batch.columns.filter(({ kind }) => kind !== 'bytes'),
      },
      times,
    });
    this.rowCount += batch.rowCount;
    this.sequenceTo = scanned.sequenceTo;
    this.times = widen(this.times, times);
    if (scanned.hasLate) this.late = widen(this.late, { first: scanned.lateFirst, last: scanned.lateLast });
  }

  /** Keeps rows as arrays, or none of the part any more if there is no memory for them. */
  #keep(batch: FreshBatch): void {
    const memory = this.#batchMemory;
    if (this.#batches === undefined || memory === undefined) return;
    const bytes = bytesOf(batch);
    if (memory.bytesLeft < bytes) return this.noteFlush();
    memory.bytesLeft -= bytes;
    this.#batchBytes += bytes;
    this.#batches.push(batch);
  }

  flush(): void {
    this.#writer.flush();
  }

  close(): void {
    this.noteFlush();
    this.#writer.close();
  }
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
