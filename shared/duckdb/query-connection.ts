import type { DuckDBConnection, DuckDBDataChunk, DuckDBInstance, DuckDBMaterializedResult } from '@duckdb/node-api';

import { dataType } from '#shared/schema/data-type';

import { chunkColumn, type FilledColumn } from './cell-columns.js';
import type { ColumnCells } from './column-cells.js';
import { readArrays } from './chunk-arrays.js';
import { readCells, valueTypeOf, type Cell, type ValueType } from './chunk-reader.js';
import { ChunkWriter } from './chunk-writer.js';
import { fromDuckDb } from './errors.js';
import { quoteName } from './quote.js';
import { joinedTexts } from './text-bytes.js';
import { interruptOnAbort, streamRows, throwIfAborted } from './stream.js';

/** An instance of the engine, for modules that only pass it on. */
export type EngineInstance = DuckDBInstance;

/** Name and type of a result column. */
export interface EngineColumn {
  readonly name: string;
  readonly type: ValueType;
}

/** Some rows of a result, by column. Valid until the next block is requested. */
export interface RowBlock {
  readonly rowCount: number;
  /** Returns the values of one column, at least `rowCount` of them. */
  cells(columnIndex: number): Cell[];
  /** As `cells`, in arrays where these take less time. */
  arrays(columnIndex: number): ColumnCells;
  /** Returns the texts of a column without nulls, one after the other. */
  joined(columnIndex: number): Uint8Array;
}

/** A complete result inside the engine, read block by block. */
export interface ResultSet {
  readonly columns: readonly EngineColumn[];
  blocks(): Iterable<RowBlock>;
}

/** Table in which a connection keeps the rows of `QueryConnection.hold`. */
export const HELD_ROWS = 'temp.held_rows';

/** The engine notes its progress, and prints nothing. SET is not possible once the settings of an instance are locked. */
const PROGRESS = ['PRAGMA disable_print_progress_bar', 'PRAGMA enable_progress_bar'];

/** A pool of connections to one instance. */
export class QueryConnections {
  readonly #instance: DuckDBInstance;
  readonly #idle: QueryConnection[] = [];

  constructor(instance: DuckDBInstance) {
    this.#instance = instance;
  }

  /** Runs `work` with a connection of its own. */
  async use<T>(work: (connection: QueryConnection) => Promise<T>): Promise<T> {
    const connection = await this.take();
    try {
      return await work(connection);
    } finally {
      this.giveBack(connection);
    }
  }

  async take(): Promise<QueryConnection> {
    return this.#idle.pop() ?? this.#open();
  }

  async #open(): Promise<QueryConnection> {
    const connection = await this.#instance.connect();
    for (const pragma of PROGRESS) await connection.run(pragma);
    return new QueryConnection(connection);
  }

  giveBack(connection: QueryConnection): void {
    this.#idle.push(connection);
  }

  /** Closes the idle connections; may be called twice. */
  close(): void {
    for (const connection of this.#idle.splice(0)) connection.close();
  }
}

/** One connection: results by column, errors as `AlmanacError`, cancellation by signal. */
export class QueryConnection {
  readonly #connection: DuckDBConnection;

  constructor(connection: DuckDBConnection) {
    this.#connection = connection;
  }

  /** Share of the query that runs now which is done, 0 to 1, as the engine estimates it; undefined: it is not known. */
  get progress(): number | undefined {
    const { percentage } = this.#connection.progress;
    return percentage < 0 ? undefined : Math.min(percentage / 100, 1);
  }

  /** Runs a query to its end inside the engine; errors are thrown here, not while the result is read. */
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
   * Runs a query to its end and keeps its rows in `HELD_ROWS`, with these column names, until `dropHeld`. The engine spills
   * them to disk when they exceed its memory.
   */
  async hold(sql: string, names: readonly string[], signal: AbortSignal): Promise<void> {
    throwIfAborted(signal);
    const release = interruptOnAbort(this.#connection, signal);
    try {
      const rows = `SELECT * FROM (${sql}) AS q(${names.join(', ')})`;
      await this.#connection.run(`CREATE OR REPLACE TEMP TABLE ${HELD_ROWS} AS ${rows}`);
    } catch (error) {
      throwIfAborted(signal);
      throw fromDuckDb(error);
    } finally {
      release();
    }
  }

  /**
   * Creates a table `temp.name` that only this connection sees, and fills it. It exists until `dropFilled`.
   *
   * @param blocks cells by column, then row: times as numbers in the column's unit, texts and floats as they are.
   * @param rest is awaited after each block; ends the work by throwing.
   */
  async fill(
    name: string,
    columns: readonly FilledColumn[],
    blocks: Iterable<readonly (readonly Cell[])[]> | AsyncIterable<readonly (readonly Cell[])[]>,
    rest: () => Promise<void>,
  ): Promise<void> {
    const columnSql = columns.map((column) => `${quoteName(column.name)} ${dataType(column.type).duckdb}`);
    await this.#connection.run(`CREATE OR REPLACE TEMP TABLE ${quoteName(name)} (${columnSql.join(', ')})`);
    await ChunkWriter.fill(this.#connection, name, async (writer) => {
      for await (const cells of blocks) {
        const chunkColumns = columns.map((column, i) => chunkColumn(column, cells[i]));
        writer.append(chunkColumns, 0, cells[0].length);
        await rest();
      }
    });
  }

  /** Drops a table of `fill`. @param relation its name with the prefix `temp`. */
  async dropFilled(relation: string): Promise<void> {
    await this.#connection.run(`DROP TABLE IF EXISTS ${relation}`);
  }

  /** Creates a view `temp.name` that only this connection sees, until `dropView`. */
  async createView(name: string, sql: string): Promise<void> {
    try {
      await this.#connection.run(`CREATE OR REPLACE TEMP VIEW ${quoteName(name)} AS ${sql}`);
    } catch (error) {
      throw fromDuckDb(error);
    }
  }

  async dropView(name: string): Promise<void> {
    await this.#connection.run(`DROP VIEW IF EXISTS temp.${quoteName(name)}`);
  }

  /** Drops the rows of `hold`. */
  async dropHeld(): Promise<void> {
    await this.#connection.run(`DROP TABLE IF EXISTS ${HELD_ROWS}`);
  }

  /** Streams a query with a known number of columns; see `streamRows`. */
  async *stream(sql: string, columnCount: number, signal: AbortSignal): AsyncGenerator<RowBlock> {
    for await (const { chunk, rowCount } of streamRows(this.#connection, { sql, columnCount, signal })) {
      yield blockOf(chunk, rowCount);
    }
  }

  /** Returns the result columns of a query without running it. */
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

  /** Returns the first value of the first row, for functions from text to text. */
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

/** The chunks are in memory already: fetching them as promises would cost one round of the thread pool each, 0.15 ms. */
function* blocksOf(result: DuckDBMaterializedResult): Iterable<RowBlock> {
  for (let i = 0; i < result.chunkCount; i++) {
    const chunk = result.getChunk(i);
    yield blockOf(chunk, chunk.rowCount);
  }
}

function blockOf(chunk: DuckDBDataChunk, rowCount: number): RowBlock {
  return {
    rowCount,
    cells: (columnIndex) => readCells(chunk, columnIndex),
    arrays: (columnIndex) => readArrays(chunk, columnIndex),
    joined: (columnIndex) => joinedTexts(chunk, columnIndex, rowCount),
  };
}
