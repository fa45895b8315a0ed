import type { DuckDBConnection, DuckDBDataChunk, DuckDBInstance, DuckDBMaterializedResult } from '@duckdb/node-api';

import { dataType } from '#shared/schema/data-type';

import { chunkColumn, type FilledColumn } from './cell-columns.js';
import { readCells, valueTypeOf, type Cell, type ValueType } from './chunk-reader.js';
import { ChunkWriter } from './chunk-writer.js';
import { fromDuckDb } from './errors.js';
import { quoteName } from './quote.js';
import { interruptOnAbort, streamRows, throwIfAborted } from './stream.js';

/** An instance of the engine, for those that only pass it on. */
export type EngineInstance = DuckDBInstance;

export interface EngineColumn {
  readonly name: string;
  readonly type: ValueType;
}

/** Some rows of a result, by column. Valid until the next block is asked for. */
export interface RowBlock {
  readonly rowCount: number;
  /** Values of one column, `rowCount` or more of them. */
  cells(columnIndex: number): Cell[];
}

/** A result that is complete inside the engine, read block by block. */
export interface ResultSet {
  readonly columns: readonly EngineColumn[];
  blocks(): Iterable<RowBlock>;
}

/** Where a connection keeps the rows of `QueryConnection.hold`. */
export const HELD_ROWS = 'temp.held_rows';

/** Connections to one instance, kept for the next query. */
export class QueryConnections {
  readonly #instance: DuckDBInstance;
  readonly #idle: QueryConnection[] = [];

  constructor(instance: DuckDBInstance) {
    this.#instance = instance;
  }

  /** Runs `work` with a connection that nobody else uses meanwhile. */
  async use<T>(work: (connection: QueryConnection) => Promise<T>): Promise<T> {
    const connection = await this.take();
    try {
      return await work(connection);
    } finally {
      this.giveBack(connection);
    }
  }

  async take(): Promise<QueryConnection> {
    return this.#idle.pop() ?? new QueryConnection(await this.#instance.connect());
  }

  giveBack(connection: QueryConnection): void {
    this.#idle.push(connection);
  }

  /** Closes the idle connections; may be called twice. */
  close(): void {
    for (const connection of this.#idle.splice(0)) connection.close();
  }
}

/** One connection, in the words of this project: results by column, errors as `AlmanacError`, ends by signal. */
export class QueryConnection {
  readonly #connection: DuckDBConnection;

  constructor(connection: DuckDBConnection) {
    this.#connection = connection;
  }

  /** Runs a query to its end inside the engine; errors are thrown here, not while reading. */
  async run(sql: string, signal: AbortSignal): Promise<ResultSet> {
    throwIfAborted(signal);
    const release = interruptOnAbort(this.#connection, signal);
    try {
      const result = await this.#connection.run(sql);
      const columns = result.columnNames().map((name, i) => ({ name, type: valueTypeOf(result.columnType(i)) }));
      return { columns, blocks: () => blocksOf(result) };
    } catch (error) {
      throwIfAborted(signal);
      throw fromDuckDb(error);
    } finally {
      release();
    }
  }

  /**
   * Runs a query to its end and keeps its rows, in order, in `HELD_ROWS`, with these column names, until `letGo`. The
   * engine spills them to disk beyond its memory.
   *
   * @returns how many rows they are.
   */
  async hold(sql: string, names: readonly string[], signal: AbortSignal): Promise<number> {
    throwIfAborted(signal);
    const release = interruptOnAbort(this.#connection, signal);
    try {
      const text = `CREATE OR REPLACE TEMP TABLE ${HELD_ROWS} AS SELECT * FROM (${sql}) AS q(${names.join(', ')})`;
      const [[count]] = await (await this.#connection.run(text)).getRows();
      return Number(count);
    } catch (error) {
      throwIfAborted(signal);
      throw fromDuckDb(error);
    } finally {
      release();
    }
  }

  /**
   * Makes a table of this connection alone, `temp.name`, and fills it, until `dropFilled`.
   *
   * @param blocks cells by column, then row: times as numbers in the column's unit, texts and floats as they are.
   * @param rest is awaited after each block; throws to end it.
   */
  async fill(
    name: string,
    columns: readonly FilledColumn[],
    blocks: Iterable<readonly (readonly Cell[])[]>,
    rest: () => Promise<void>,
  ): Promise<void> {
    const columnSql = columns.map((column) => `${quoteName(column.name)} ${dataType(column.type).duckdb}`);
    await this.#connection.run(`CREATE OR REPLACE TEMP TABLE ${quoteName(name)} (${columnSql.join(', ')})`);
    const writer = await ChunkWriter.open(this.#connection, name);
    try {
      for (const cells of blocks) {
        const rows = cells[0].length;
        writer.append(
          columns.map((column, i) => chunkColumn(column, cells[i])),
          0,
          rows,
        );
        await rest();
      }
    } finally {
      writer.close();
    }
  }

  /** Drops what `fill` made. @param relation its name with `temp`. */
  async dropFilled(relation: string): Promise<void> {
    await this.#connection.run(`DROP TABLE IF EXISTS ${relation}`);
  }

  /** Drops what `hold` keeps. */
  async letGo(): Promise<void> {
    await this.#connection.run(`DROP TABLE IF EXISTS ${HELD_ROWS}`);
  }

  /** Streams a query whose columns are known by number; see `streamRows`. */
  async *stream(sql: string, columnCount: number, signal: AbortSignal): AsyncGenerator<RowBlock> {
    for await (const { chunk, rowCount } of streamRows(this.#connection, { sql, columnCount, signal })) {
      yield blockOf(chunk, rowCount);
    }
  }

  /** Columns that a query would give. */
  async describe(sql: string): Promise<EngineColumn[]> {
    try {
      const prepared = await this.#connection.prepare(sql);
      const columns: EngineColumn[] = [];
      for (let i = 0; i < prepared.columnCount; i++) {
        columns.push({ name: prepared.columnName(i), type: valueTypeOf(prepared.columnType(i)) });
      }
      prepared.destroySync();
      return columns;
    } catch (error) {
      throw fromDuckDb(error);
    }
  }

  /** The first value of the first row, for functions of text. */
  async callText(sql: string, argument: string): Promise<string> {
    try {
      const chunk = await (await this.#connection.run(sql, [argument])).fetchChunk();
      return String(chunk?.getColumnVector(0).getItem(0));
    } catch (error) {
      throw fromDuckDb(error);
    }
  }

  close(): void {
    this.#connection.closeSync();
  }
}

/** The chunks are in memory: fetching them as promises would cost a turn of the thread pool each, 0.15 ms. */
function* blocksOf(result: DuckDBMaterializedResult): Iterable<RowBlock> {
  for (let i = 0; i < result.chunkCount; i++) {
    const chunk = result.getChunk(i);
    yield blockOf(chunk, chunk.rowCount);
  }
}

function blockOf(chunk: DuckDBDataChunk, rowCount: number): RowBlock {
  return { rowCount, cells: (columnIndex) => readCells(chunk, columnIndex) };
}
