import { refuseReadOnly } from '#shared/contracts/rights';
import { quoteName, quoteText } from '#shared/duckdb/quote';
import { AlmanacError } from '#shared/errors/almanac-error';
import type { OutputColumn } from '#shared/formats/format';

import { outputColumns, withBoundQuery, type BoundQuery } from '../run/run-query.js';
import type { StatementContext } from '../statement.js';
import { lexSql } from '../syntax/lex.js';
import type { QueryText } from '../syntax/query-text.js';
import { vectorFunction } from '../vectors/row-functions.js';
import { engineTimeFormat, type CopyOptions } from './copy-options.js';
import { namedFiles } from '../files/copy-root.js';

/** Writes the rows of a query to a file. @returns the number of rows. */
export async function exportQuery(
  context: StatementContext,
  query: QueryText,
  path: string,
  options: CopyOptions,
): Promise<number> {
  // Those who may only read may write files, unless the request says otherwise.
  refuseReadOnly(context.call);
  const root = namedFiles(context);
  const written = withBoundQuery(context, query, async function* (bound) {
    const columns = outputColumns(await bound.connection.describe(await bound.emptySql()), bound);
    checkNames(columns);
    yield await root.replaceFile(path, async (scratch) =>
      writeFile(context, bound, await copySql(bound, columns, scratch, options)),
    );
  });
  let rows = 0;
  for await (const count of written) rows += count;
  return rows;
}

/** Returns the query for the rows of a table or a view. @param timeIndex undefined: there is none. */
export function rowsQuery(
  { database, name, timeIndex }: { database: string; name: string; timeIndex: string | undefined },
  { startTime, endTime }: CopyOptions,
): QueryText {
  const conditions: string[] = [];
  if (timeIndex === undefined && (startTime !== undefined || endTime !== undefined)) {
    const text = `start_time and end_time need a time index, which "${name}" does not have`;
    throw new AlmanacError('invalid_arguments', text);
  }
  if (startTime !== undefined) conditions.push(`${quoteName(timeIndex ?? '')} >= ${quoteText(startTime)}`);
  if (endTime !== undefined) conditions.push(`${quoteName(timeIndex ?? '')} < ${quoteText(endTime)}`);
  const where = conditions.length === 0 ? '' : ` WHERE ${conditions.join(' AND ')}`;
  const tokens = lexSql(`SELECT * FROM ${quoteName(database)}.${quoteName(name)}${where}`);
  return { tokens, from: 0, to: tokens.count };
}

async function writeFile({ call }: StatementContext, { connection }: BoundQuery, sql: string): Promise<number> {
  const [block] = (await connection.run(sql, call.signal)).blocks();
  return Number(block.cells(0)[0]);
}

function checkNames(columns: readonly OutputColumn[]): void {
  const taken = new Set<string>();
  for (const { name } of columns) {
    if (taken.has(name.toLowerCase())) {
      throw new AlmanacError('invalid_arguments', `a file cannot have two columns "${name}": name them with AS`);
    }
    taken.add(name.toLowerCase());
  }
}

async function copySql(
  bound: BoundQuery,
  columns: readonly OutputColumn[],
  path: string,
  options: CopyOptions,
): Promise<string> {
  const items = columns.map((column, i) => `${valueSql(`c${i}`, column, options)} AS ${quoteName(column.name)}`);
  const names = columns.map((_, i) => `c${i}`).join(', ');
  const rows = `SELECT ${items.join(', ')} FROM (${await bound.sql()}) AS q(${names})`;
  return `COPY (${rows}) TO ${quoteText(path)} (${fileSettings(options)})`;
}

function fileSettings({ format, compression, hasHeaders, delimiter }: CopyOptions): string {
  if (format === 'parquet') return 'FORMAT parquet, COMPRESSION zstd';
  const settings = [`FORMAT ${format}`, `COMPRESSION ${compression ?? 'none'}`];
  if (format === 'csv') settings.push(`HEADER ${hasHeaders}`, `DELIMITER ${quoteText(delimiter)}`);
  return settings.join(', ');
}

const INTEGERS: Readonly<Partial<Record<string, string>>> = { Int64: 'BIGINT', UInt64: 'UBIGINT' };

/** Returns the value of a column as the file has it. */
function valueSql(value: string, { type: { name, kind } }: OutputColumn, options: CopyOptions): string {
  if (kind === 'null') return `${value}::VARCHAR`;
  if (kind === 'vector') return `${vectorFunction('vec_to_string')}(${value})`;
  // Sums are wider inside the engine than the type that they have in results.
  if (name in INTEGERS) return `${value}::${INTEGERS[name]}`;
  // A document is a text in every format: a text of JSON could not be distinguished from a document otherwise.
  if (kind === 'json') return `${value}::VARCHAR`;
  if (options.format === 'parquet') return value;
  if (kind === 'binary') return `lower(hex(${value}))`;
  const format = formatOf(name, options);
  return format === undefined ? value : `strftime(${value}::TIMESTAMP_NS, ${quoteText(engineTimeFormat(format))})`;
}

function formatOf(name: string, { timestampFormat, dateFormat, timeFormat }: CopyOptions): string | undefined {
  if (name.startsWith('Timestamp')) return timestampFormat;
  if (name === 'Date') return dateFormat;
  return name.startsWith('Time') ? timeFormat : undefined;
}
