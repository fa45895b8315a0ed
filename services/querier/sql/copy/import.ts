import type { Column } from '#shared/contracts/gen/common';
import type { Cell, ValueType } from '#shared/duckdb/chunk-reader';
import type { QueryConnection } from '#shared/duckdb/query-connection';
import { AlmanacError } from '#shared/errors/almanac-error';
import type { ConfinedFile } from '#shared/fs/confined-folder';
import { dataType, UNIT_NS } from '#shared/schema/data-type';
import { timeIndexOf } from '#shared/schema/table-schema';
import { UTC, type Zone } from '#shared/time/zone';
import type { CellValue } from '#shared/write/cell-value';

import { rowsOf } from '../run/run-query.js';
import { insertShape, type InsertShape, type InsertTarget } from '../statements/rows/insert.js';
import type { StatementContext } from '../statement.js';
import { converterOf, type CellConverter } from '../syntax/cells.js';
import { ceilDivide } from '../syntax/literals.js';
import { parseTimestampText } from '../syntax/timestamp-text.js';
import type { CopyOptions } from './copy-options.js';
import { namedFiles } from '../files/copy-root.js';
import { matchingFiles } from '../files/matching-files.js';
import { fileColumns, fileRowsSql } from './file-sql.js';
import { importShape } from './import-columns.js';
import { importError, RecordError } from './import-error.js';

/** A table that is to be filled, and what of. */
export interface Import {
  readonly target: InsertTarget['name'];
  readonly path: string;
  readonly options: CopyOptions;
  /** Most rows that are read; undefined: all. */
  readonly limit: number | undefined;
}

/** Inserts the rows of files into a table, block by block. @returns the number of rows. */
export async function importFiles(
  context: StatementContext,
  { target, path, options, limit }: Import,
): Promise<number> {
  const { deps } = context;
  // The right to write is checked before anything is said of files.
  const { table } = await insertShape({ name: target, columns: [] }, context, () => true);
  const bounds = timeBounds(table, options, context.session.zone);
  const connection = await deps.connections.take();
  try {
    const files = await matchingFiles(await namedFiles(context).filesAt(path), options.pattern, connection);
    if (files.length === 0) {
      throw new AlmanacError('invalid_arguments', `no file to copy from at '${path.slice(0, 200)}'`);
    }
    // Nothing is imported unless all files have the columns that they must have.
    const plans: FilePlan[] = [];
    for (const file of files) {
      const plan = await planFile(context, target, { file, options, connection });
      if (plan !== undefined) plans.push(plan);
    }
    let rows = 0;
    for (const plan of plans) {
      if (limit !== undefined && rows >= limit) break;
      rows += await importFile(context, plan, { bounds, limit: limit === undefined ? undefined : limit - rows });
    }
    return rows;
  } finally {
    deps.connections.giveBack(connection);
  }
}

interface TimeBounds {
  readonly column: string;
  /** In the column's unit. */
  readonly from: bigint | undefined;
  readonly to: bigint | undefined;
}

function timeBounds(table: InsertShape['table'], { startTime, endTime }: CopyOptions, zone: Zone): TimeBounds {
  const { name, type } = timeIndexOf(table);
  const unitNs = UNIT_NS[dataType(type).timeUnit ?? 'ns'];
  const bound = (option: string, text: string | undefined): bigint | undefined => {
    if (text === undefined) return undefined;
    const ns = parseTimestampText(text, zone);
    if (ns !== undefined) return ceilDivide(ns, unitNs);
    throw new AlmanacError('invalid_arguments', `invalid ${option} "${text.slice(0, 100)}": use a time as in INSERT`);
  };
  return { column: name, from: bound('start_time', startTime), to: bound('end_time', endTime) };
}

interface FileSource {
  readonly file: ConfinedFile;
  readonly options: CopyOptions;
  readonly connection: QueryConnection;
}

/** How a file is read. */
interface FilePlan extends FileSource {
  readonly shape: InsertShape;
  readonly sql: string;
  readonly types: readonly ValueType[];
}

/** Returns undefined for a file of JSON without objects. */
async function planFile(
  context: StatementContext,
  target: Import['target'],
  source: FileSource,
): Promise<FilePlan | undefined> {
  const { file, options, connection } = source;
  try {
    const all = await insertShape({ name: target, columns: undefined }, context, () => true);
    const found = await fileColumns(connection, file, options, all.given, context.call.signal);
    if (options.format === 'json' && found.matched.size + found.unknown.length === 0) return undefined;
    const shape = await importShape(context, target, all.given, found);
    const columns = shape.given.map((column) => ({ column, source: found.matched.get(column.name) ?? '' }));
    const sql = fileRowsSql(file, options, columns);
    const types = (await connection.describe(sql)).map(({ type }) => type);
    return { ...source, shape, sql, types };
  } catch (error) {
    throw importError(error, file);
  }
}

interface RowLimits {
  readonly bounds: TimeBounds;
  readonly limit: number | undefined;
}

async function importFile({ call, deps }: StatementContext, plan: FilePlan, limits: RowLimits): Promise<number> {
  const { table, stored } = plan.shape;
  try {
    return await deps.insert.insert(table, stored, importedRows(call.signal, plan, limits), call);
  } catch (error) {
    throw importError(error, plan.file);
  }
}

async function* importedRows(
  signal: AbortSignal,
  { shape, sql, types, options, connection }: FilePlan,
  { bounds, limit = Infinity }: RowLimits,
): AsyncIterable<CellValue[][]> {
  // Texts without an offset are those of an export, which are in UTC.
  const readers = shape.given.map((column, i) => cellOf(converterOf(column, UTC), types[i], options));
  const timeAt = shape.given.findIndex(({ name }) => name === bounds.column);
  const maySkip = options.skipsBadRecords && options.format !== 'parquet';
  let left = limit;
  let record = 0;
  for await (const block of connection.stream(sql, types.length, signal)) {
    const rows: CellValue[][] = [];
    for (const cells of rowsOf(block, types.length)) {
      if (left === 0) break;
      const row = convertedRow(shape, readers, cells, maySkip ? undefined : ++record);
      if (row === undefined || !isInside(row[timeAt], bounds)) continue;
      rows.push(row);
      left--;
    }
    if (rows.length > 0) yield rows;
    if (left === 0) return;
  }
}

/** Returns undefined for a record that is to be skipped. @param record its number for errors; undefined: it may be skipped. */
function convertedRow(
  shape: InsertShape,
  readers: readonly ((cell: Cell) => CellValue)[],
  cells: readonly Cell[],
  record: number | undefined,
): CellValue[] | undefined {
  try {
    return shape.complete(readers.map((read, i) => read(cells[i])));
  } catch (error) {
    if (!(error instanceof AlmanacError)) throw error;
    if (record === undefined) return undefined;
    throw new RecordError(record, error);
  }
}

/** @param time value of the time index; undefined if the file does not have it. */
function isInside(time: CellValue | undefined, { from, to }: TimeBounds): boolean {
  if (time === undefined || time === null) return true;
  const count = BigInt(time as bigint | number);
  return (from === undefined || count >= from) && (to === undefined || count < to);
}

const WHOLE = /^-?\d{1,19}$/;
const HEX = /^(?:[0-9a-f]{2})*$/i;

/** Returns what reads the values of a column of a file. */
function cellOf(converter: CellConverter, type: ValueType, { format }: CopyOptions): (cell: Cell) => CellValue {
  const { column } = converter;
  const { timeUnit, name } = dataType(column.type);
  if (format === 'parquet' || type.kind !== 'text') return (cell) => converter.cell(cell, type);
  if (timeUnit !== undefined) {
    return (cell) => {
      const isCount = typeof cell === 'string' && WHOLE.test(cell);
      return isCount ? converter.literal({ kind: 'integer', value: cell }, false) : converter.cell(cell, type);
    };
  }
  if (name !== 'Binary') return (cell) => converter.cell(cell, type);
  return (cell) => (typeof cell === 'string' ? bytesOf(cell, column) : null);
}

/** Exports have bytes in hexadecimal digits. */
function bytesOf(text: string, { name }: Column): Uint8Array {
  if (HEX.test(text)) return Buffer.from(text, 'hex');
  throw new AlmanacError('invalid_arguments', `"${text.slice(0, 40)}" has no hexadecimal digits, column: ${name}`);
}
