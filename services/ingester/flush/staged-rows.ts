import type { Clock } from '#shared/clock/clock';
import type { Table } from '#shared/contracts/gen/common';
import { ChunkWriter, type ChunkColumn } from '#shared/duckdb/chunk-writer';
import type { DuckDBConnection } from '#shared/duckdb/engine';
import { FILE_COLUMNS_ONLY } from '#shared/duckdb/file-columns';
import { quoteText } from '#shared/duckdb/quote';
import { invariant } from '#shared/errors/invariant';
import { isDiskFull } from '#shared/fs/disk-error';
import {
  PlainFile,
  type PlainColumn,
  type PlainFileOptions,
  type PlainType,
  type PlainValues,
} from '#shared/parquet/plain-file';
import { isBytes, type Column, type FixedValues } from '#shared/rowbatch/column';
import { dataType, type TimeUnit } from '#shared/schema/data-type';
import { fieldsOf } from '#shared/schema/table-schema';

import { appendRows, cellsOf } from './append-rows.js';
import { fieldName } from './segment-sql.js';

/** Sorted rows of one segment, where the engine reads them. */
export interface StagedRows {
  /** SQL of the relation: `metric` if present, `sid`, `time`, and `f<id>` for each field. */
  readonly relation: string;
  /** SQL of a number that is greater for rows that were appended later. */
  readonly version: string;
  /** Appends rows `[from, to)`; `from` is a multiple of 8. The columns must not change until this resolves. */
  append(columns: readonly ChunkColumn[], from: number, to: number): Promise<void>;
  /** Called after the last rows. */
  end(): Promise<void>;
  /** Frees what the rows occupy; may be called at any time. */
  drop(): Promise<void>;
}

/** A temporary table of the engine. */
export class EngineTable {
  readonly name: string;
  readonly #connection: DuckDBConnection;
  #exists = false;

  constructor(connection: DuckDBConnection, name: string) {
    this.#connection = connection;
    this.name = name;
  }

  /**
   * Creates the table, in a transaction that is never committed: each flush of an appender would commit otherwise, which
   * takes 1 ms, and copies the rows.
   */
  async create(columns: string): Promise<void> {
    await this.#connection.run('BEGIN TRANSACTION');
    this.#exists = true;
    await this.#connection.run(`CREATE TEMP TABLE ${this.name} (${columns})`);
  }

  fill(use: (writer: ChunkWriter) => Promise<void>): Promise<void> {
    return ChunkWriter.fill(this.#connection, this.name, use);
  }

  async drop(): Promise<void> {
    if (!this.#exists) return;
    this.#exists = false;
    await this.#connection.run('ROLLBACK');
  }
}

/** Rows in a table of the engine. */
export class RowsInTable implements StagedRows {
  readonly version = 'rowid';
  readonly #table: EngineTable;
  readonly #columns: string;
  readonly #cells: number;
  readonly #clock: Clock;
  #isCreated = false;

  /** @param columns SQL of the columns, as `generationColumns` returns it. */
  constructor(table: EngineTable, columns: string, held: Table, clock: Clock) {
    this.#table = table;
    this.#columns = columns;
    this.#cells = cellsOf(held);
    this.#clock = clock;
  }

  get relation(): string {
    return this.#table.name;
  }

  async append(columns: readonly ChunkColumn[], from: number, to: number): Promise<void> {
    if (!this.#isCreated) await this.#table.create(this.#columns);
    this.#isCreated = true;
    const rows = { from, to, cells: this.#cells };
    await this.#table.fill((writer) => appendRows(writer, columns, rows, () => this.#clock.yield()));
  }

  end(): Promise<void> {
    return Promise.resolve();
  }

  drop(): Promise<void> {
    return this.#table.drop();
  }
}

/** Whether rows of the table can be staged in a file: texts cannot, since the engine refuses a file with a text that is not UTF-8. */
export function isFixed(held: Table): boolean {
  return !fieldsOf(held).some(({ type }) => isBytes(dataType(type).storage));
}

/** Rows of a group of the file; the engine's threads read a group each. */
const GROUP_ROWS = 122_880;

/** Rows in a file, which takes a thirtieth of the main thread's time, and no memory of the engine. */
export class RowsInFile implements StagedRows {
  readonly version = 'version';
  readonly #place: Omit<PlainFileOptions, 'columns'>;
  readonly #held: Table;
  readonly #hasMetrics: boolean;
  #file: PlainFile | undefined;
  #relation = '';

  constructor(place: Omit<PlainFileOptions, 'columns'>, held: Table, hasMetrics: boolean) {
    this.#place = place;
    this.#held = held;
    this.#hasMetrics = hasMetrics;
  }

  get relation(): string {
    return this.#relation;
  }

  async append(columns: readonly ChunkColumn[], from: number, to: number): Promise<void> {
    this.#file ??= this.#create(columns);
    const present = columns.filter(({ kind }) => kind !== 'null');
    for (let at = from; at < to; at += GROUP_ROWS) {
      const end = Math.min(at + GROUP_ROWS, to);
      await this.#file.append(end - at, (i) => valuesOf(present[i], at, end)).catch(refuseStaging);
    }
  }

  async end(): Promise<void> {
    await this.#file?.finish().catch(refuseStaging);
  }

  async drop(): Promise<void> {
    await this.#file?.discard();
  }

  /** @param columns whose kinds are those of all that follow. */
  #create(columns: readonly ChunkColumn[]): PlainFile {
    const held = fieldsOf(this.#held);
    const keys = [...(this.#hasMetrics ? ['metric'] : []), 'sid', 'time'];
    const names = [...keys, ...held.map(fieldName)];
    invariant(names.length === columns.length, 'staged rows: number of columns');
    const selected: string[] = [];
    const inFile: PlainColumn[] = [];
    for (const [i, column] of columns.entries()) {
      const name = names[i];
      if (column.kind === 'null') {
        selected.push(`NULL::${dataType(held[i - keys.length].type).duckdb} AS ${name}`);
        continue;
      }
      const [type, sql] = plainType(column, name);
      inFile.push({ name, type });
      selected.push(`${sql} AS ${name}`);
    }
    const source = `read_parquet(${quoteText(this.#place.path)}, file_row_number = true, ${FILE_COLUMNS_ONLY})`;
    this.#relation = `(SELECT ${selected.join(', ')}, file_row_number AS version FROM ${source})`;
    return new PlainFile({ ...this.#place, columns: inFile });
  }
}

/** The disk has no space for rows that are not compressed. */
export class NoSpaceToStage extends Error {}

function refuseStaging(cause: unknown): never {
  throw isDiskFull(cause) ? new NoSpaceToStage('no space to stage rows', { cause }) : cause;
}

/** Returns the type of a column in the file, and SQL of its values as the engine's tables have them. */
function plainType(column: ChunkColumn, name: string): readonly [type: PlainType, sql: string] {
  if (column.kind === 'numbers') return ['u32', name];
  if (column.kind === 'time') return timeType(column.unit as TimeUnit, name);
  invariant(column.kind === 'column' && column.column.kind === 'fixed', 'staged rows: column without a fixed width');
  const { values, type } = column.column;
  const { timeUnit, name: typeName } = dataType(type);
  if (timeUnit !== undefined) return timeType(timeUnit, name);
  if (typeName === 'Date') return ['day', name];
  if (values instanceof Float64Array) return ['f64', name];
  if (values instanceof Float32Array) return ['f32', name];
  if (values instanceof Uint8Array) return ['i32', `${name}::BOOLEAN`];
  if (values.BYTES_PER_ELEMENT < 8) return ['i32', name];
  return [typeName === 'UInt64' ? 'u64' : 'i64', name];
}

function timeType(unit: TimeUnit, name: string): readonly [type: PlainType, sql: string] {
  switch (unit) {
    case 's':
      return ['i64', `make_timestamp(${name} * 1000000)::TIMESTAMP_S`];
    case 'ms':
      return ['ms', `${name}::TIMESTAMP_MS`];
    case 'us':
    case 'ns':
      return [unit, name];
  }
}

/** Returns the values of rows `[from, to)`. */
function valuesOf(column: ChunkColumn, from: number, to: number): PlainValues {
  if (column.kind === 'numbers') {
    const values = new Uint32Array(to - from);
    column.read(from, values);
    return { values, validity: undefined };
  }
  if (column.kind === 'time') return { values: column.values.subarray(from, to), validity: undefined };
  invariant(column.kind === 'column' && column.column.kind === 'fixed', 'staged rows: column without a fixed width');
  return fixedValues(column.column, from, to);
}

function fixedValues({ values, validity }: Column & { kind: 'fixed' }, from: number, to: number): PlainValues {
  const rows: FixedValues = values.subarray(from, to);
  return {
    values: rows.BYTES_PER_ELEMENT < 4 ? Int32Array.from(rows as Int8Array) : rows,
    validity: validity?.subarray(from >> 3, (to + 7) >> 3),
  };
}
