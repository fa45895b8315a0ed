import type { Column } from '#shared/contracts/gen/common';
import type { QueryConnection } from '#shared/duckdb/query-connection';
import { quoteName, quoteText } from '#shared/duckdb/quote';
import { AlmanacError } from '#shared/errors/almanac-error';
import type { ConfinedFile } from '#shared/fs/confined-folder';
import { dataType } from '#shared/schema/data-type';

import { csvRelation, jsonObjects, jsonRelation, parquetRelation } from '../files/file-relations.js';
import { matchColumns } from '../files/match-columns.js';
import { engineTimeFormat, type CopyOptions } from './copy-options.js';

/** Which columns of a table a file has. */
export interface ColumnsOfFile {
  /** Their names in the file, by those in the table. */
  readonly matched: ReadonlyMap<string, string>;
  /** Names in the file that the table does not have. */
  readonly unknown: readonly string[];
}

const COLUMNS_MAX = 10_000;

/**
 * Reads which columns a file has. Of JSON these are the members of any of its objects.
 *
 * @param columns of the table, for CSV without names.
 * @throws `invalid_arguments` if names of CSV are not those of the table, although they must be.
 */
export async function fileColumns(
  connection: QueryConnection,
  file: ConfinedFile,
  options: CopyOptions,
  columns: readonly Column[],
  signal: AbortSignal,
): Promise<ColumnsOfFile> {
  if (options.format === 'json') {
    const objects = jsonObjects([file], options);
    const sql = `SELECT DISTINCT unnest(json_keys(json)) FROM ${objects} LIMIT ${COLUMNS_MAX}`;
    const keys = [...(await connection.run(sql, signal)).blocks()].flatMap((block) => block.cells(0));
    return matchedOf(
      columns,
      keys.filter((key) => typeof key === 'string'),
    );
  }
  const relation = options.format === 'csv' ? csvRelation([file], options) : parquetRelation([file]);
  const found = (await connection.describe(`SELECT * FROM ${relation}`)).map(({ name }) => name);
  if (options.format === 'parquet' || options.hasHeaders) {
    if (options.isStrict && found.join('\0') !== columns.map(({ name }) => name).join('\0')) {
      const expected = columns.map(({ name }) => name).join(', ');
      throw new AlmanacError('invalid_arguments', `it does not have exactly the columns ${expected}`);
    }
    return matchedOf(columns, found);
  }
  if (found.length > columns.length) {
    const text = `it has ${found.length} columns, the table has ${columns.length}`;
    throw new AlmanacError('invalid_arguments', text);
  }
  return { matched: new Map(found.map((name, i) => [columns[i].name, name])), unknown: [] };
}

function matchedOf(columns: readonly Column[], found: readonly string[]): ColumnsOfFile {
  const matched = matchColumns(columns, found);
  const used = new Set(matched.values());
  return { matched, unknown: found.filter((name) => !used.has(name)) };
}

/** Returns the query for columns of a file, in the given order. */
export function fileRowsSql(
  file: ConfinedFile,
  options: CopyOptions,
  columns: readonly { readonly column: Column; readonly source: string }[],
): string {
  const items = columns.map(({ column, source }) => valueSql(column, quoteName(source), options));
  return `SELECT ${items.join(', ')} FROM ${relationOf(file, options, columns)}`;
}

function relationOf(file: ConfinedFile, options: CopyOptions, columns: readonly { readonly source: string }[]): string {
  if (options.format === 'parquet') return parquetRelation([file]);
  if (options.format === 'csv') return csvRelation([file], options);
  // Every value as text: what it means depends on the table's column.
  const names = columns.map(({ source }) => source);
  return jsonRelation([file], options, names);
}

/** Texts of times are parsed by the engine only if the statement gives their format. */
function valueSql({ type }: Column, source: string, options: CopyOptions): string {
  if (options.format === 'parquet') return source;
  const isTime = dataType(type).timeUnit !== undefined;
  const format = isTime ? options.timestampFormat : type === 'Date' ? options.dateFormat : undefined;
  return format === undefined ? source : `strptime(${source}, ${quoteText(engineTimeFormat(format))})`;
}
