import type { Table } from '#shared/contracts/gen/common';
import type { ScanBatch } from '#shared/contracts/gen/ingester';
import { CHUNK_ROWS, ChunkWriter, type ChunkColumn } from '#shared/duckdb/chunk-writer';
import type { DuckDBConnection } from '#shared/duckdb/engine';
import type { RowBatch } from '#shared/rowbatch/row-batch';
import { dataType } from '#shared/schema/data-type';
import { fieldsOf, timeIndexOf } from '#shared/schema/table-schema';

import type { Band } from '#shared/segments/bands';
import type { RowsPart } from './rows-layout.js';

const NULLS: ChunkColumn = { kind: 'null' };
/** Cells that are appended between two rests: about 10 ms. */
const REST_CELLS = 300_000;

/**
 * Rows of one generation of a region as a table of the query instance: `(sid, time, f<column id> ..)`, in the order of
 * their sequences, so that `rowid` orders versions.
 *
 * A generation has several parts if the table was widened, or got other types, meanwhile: a filled table is never altered.
 */
export class FreshPart implements RowsPart {
  readonly relation: string;
  readonly generation: number;
  readonly fieldIds: ReadonlySet<number>;
  /** Those of its rows, by column id. */
  readonly types: ReadonlyMap<number, string>;
  readonly sequenceFrom: bigint;
  sequenceTo: bigint;
  /** Rows that can be read; later ones may be added while a query runs. */
  rowCount = 0;
  times: Band | undefined;
  late: Band | undefined;
  /** Snapshots that read it. */
  pins = 0;
  isObsolete = false;
  /** Columns of appended rows that the table did not have yet when the part was made. */
  readonly #leftOut = new Set<number>();
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

  /** Makes an empty part for `first` and what follows. @param table with the types that the rows have. */
  static async create(
    { connection, appending }: { readonly connection: DuckDBConnection; readonly appending: DuckDBConnection },
    relation: string,
    table: Table,
    first: ScanBatch,
  ): Promise<FreshPart> {
    const time = `time ${dataType(timeIndexOf(table).type).duckdb}`;
    const fields = fieldsOf(table).map((column) => `f${column.id} ${dataType(column.type).duckdb}`);
    await connection.run(`CREATE TABLE ${relation} (${['sid UINTEGER', time, ...fields].join(', ')})`);
    return new FreshPart(relation, table, first, await ChunkWriter.open(appending, relation));
  }

  /** Whether rows of the batch can go here. */
  takes(scanned: ScanBatch, batch: RowBatch): boolean {
    if (scanned.generation !== this.generation) return false;
    return batch.columns.every(({ columnId, type }) => this.types.get(columnId) === type);
  }

  /** Whether the table has columns by now whose values were left out here. */
  lacks(table: Table): boolean {
    return this.#leftOut.size > 0 && fieldsOf(table).some((column) => this.#leftOut.has(column.id));
  }

  /**
   * Adds rows; they can be read after `flush`.
   *
   * @param rest is awaited between slices: a batch may have hundreds of thousands of rows.
   */
  async append(scanned: ScanBatch, batch: RowBatch, rest: () => Promise<void>): Promise<void> {
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
    let sinceRest = 0;
    for (let from = 0; from < batch.rowCount; from += CHUNK_ROWS) {
      this.#writer.append(columns, from, Math.min(from + CHUNK_ROWS, batch.rowCount));
      sinceRest += CHUNK_ROWS * columns.length;
      if (sinceRest < REST_CELLS) continue;
      sinceRest = 0;
      await rest();
    }
    this.rowCount += batch.rowCount;
    this.sequenceTo = scanned.sequenceTo;
    this.times = widen(this.times, { first: scanned.timeFirst, last: scanned.timeLast });
    if (scanned.hasLate) this.late = widen(this.late, { first: scanned.lateFirst, last: scanned.lateLast });
  }

  flush(): void {
    this.#writer.flush();
  }

  close(): void {
    this.#writer.close();
  }
}

function widen(band: Band | undefined, other: Band): Band {
  if (band === undefined) return other;
  return {
    first: band.first < other.first ? band.first : other.first,
    last: band.last > other.last ? band.last : other.last,
  };
}
