import { CHUNK_ROWS, ChunkWriter, type ChunkColumn } from '#shared/duckdb/chunk-writer';
import type { DuckDBConnection } from '#shared/duckdb/engine';
import { firstRow } from '#shared/duckdb/read';
import type { RowBatch } from '#shared/rowbatch/row-batch';

/** Connections of the query instance to fill a table. */
export interface PartTableDeps {
  readonly connection: DuckDBConnection;
  readonly appending: DuckDBConnection;
}

/** Columns of a table: `sid`, `time`, and `f<column id>` for each field. */
export interface PartColumns {
  /** Engine type of the time index. */
  readonly timeType: string;
  readonly timeUnit: string;
  /** Column IDs and engine types of the fields, in the table's order. */
  readonly fields: readonly { readonly id: number; readonly type: string }[];
}

const NULLS: ChunkColumn = { kind: 'null' };
/** Cells that are appended between two yields to the event loop: about 10 ms. */
const CELLS_PER_YIELD = 300_000;
/** Rows that are made visible at once: the call blocks for about 10 ms. */
const ROWS_PER_FLUSH = 32 * CHUNK_ROWS;

/** A table of the query instance for rows of a part, which is created with the first rows. */
export class PartTable {
  readonly relation: string;
  readonly #deps: PartTableDeps;
  readonly #columns: PartColumns;
  #isCreated = false;
  #writer: ChunkWriter | undefined;

  constructor(relation: string, columns: PartColumns, deps: PartTableDeps) {
    this.relation = relation;
    this.#columns = columns;
    this.#deps = deps;
  }

  /**
   * Appends rows; the last of them are visible after `flush`. An error leaves the table with some of them.
   *
   * @param sids series number of each row
   * @param pause yields to the event loop; awaited between chunks, because a batch can have hundreds of thousands of rows
   * @param first number of first rows that are left out: those that the table has
   */
  async append(
    sids: Uint32Array<ArrayBuffer>,
    { rowCount, times, columns }: Pick<RowBatch, 'rowCount' | 'times' | 'columns'>,
    pause: () => Promise<void>,
    first = 0,
  ): Promise<void> {
    const writer = (this.#writer ??= await this.#create());
    const byId = new Map(columns.map((column) => [column.columnId, column]));
    const chunkColumns: ChunkColumn[] = [
      { kind: 'u32', values: sids },
      { kind: 'time', unit: this.#columns.timeUnit, values: times },
      ...this.#columns.fields.map(({ id }): ChunkColumn => {
        const column = byId.get(id);
        return column === undefined ? NULLS : { kind: 'column', column };
      }),
    ];
    let sinceYield = 0;
    let sinceFlush = 0;
    for (let from = first; from < rowCount; from += CHUNK_ROWS) {
      writer.append(chunkColumns, from, Math.min(from + CHUNK_ROWS, rowCount));
      sinceYield += CHUNK_ROWS * chunkColumns.length;
      sinceFlush += CHUNK_ROWS;
      if (sinceFlush >= ROWS_PER_FLUSH) {
        sinceFlush = 0;
        writer.flush();
      }
      if (sinceYield < CELLS_PER_YIELD) continue;
      sinceYield = 0;
      await pause();
    }
  }

  /** Makes the appended rows visible. */
  flush(): void {
    this.#writer?.flush();
  }

  /** Drops the appended rows that are not visible: after an error, `flush` would fail again. */
  discardPending(): void {
    const writer = this.#writer;
    this.#writer = undefined;
    try {
      writer?.discard();
    } catch {
      // It has no rows any more, so it fails only if the instance is closed or broken.
    }
  }

  /** Returns the number of visible rows, which are the first ones that were appended. */
  async visibleCount(): Promise<number> {
    if (!this.#isCreated) return 0;
    const [count] = await firstRow(this.#deps.connection, `SELECT count(*) FROM ${this.relation}`);
    return Number(count);
  }

  /** Drops the table. Never rejects. */
  async drop(): Promise<void> {
    this.discardPending();
    if (!this.#isCreated) return;
    // DROP fails only if the instance is closed or broken, and then there is nothing to release.
    await this.#deps.connection.run(`DROP TABLE IF EXISTS ${this.relation}`).catch(() => undefined);
  }

  async #create(): Promise<ChunkWriter> {
    const { timeType, fields } = this.#columns;
    const columns = ['sid UINTEGER', `time ${timeType}`, ...fields.map(({ id, type }) => `f${id} ${type}`)];
    if (!this.#isCreated) await this.#deps.connection.run(`CREATE TABLE ${this.relation} (${columns.join(', ')})`);
    this.#isCreated = true;
    return ChunkWriter.open(this.#deps.appending, this.relation);
  }
}
