import type { Column, Table } from '#shared/contracts/gen/common';
import type { QueryConnection } from '#shared/duckdb/query-connection';
import { quoteName, quoteText } from '#shared/duckdb/quote';
import { AlmanacError } from '#shared/errors/almanac-error';
import type { ConfinedFile, ConfinedFolder } from '#shared/fs/confined-folder';
import { dataType } from '#shared/schema/data-type';
import { EXTERNAL_LOCATION, isExternal } from '#shared/schema/external-table';

import { externalName } from '../system-tables/given-table.js';
import { matchingFiles } from './matching-files.js';
import { copyRootOf } from './copy-root.js';

/** Formats of the files of external tables. */
export type ExternalFormat = 'parquet' | 'csv' | 'json';

type Options = Readonly<Partial<Record<string, string>>>;

/** Time of rows whose files have none. */
const NO_TIME = "TIMESTAMP '1970-01-01 00:00:00'";
/** Largest value of JSON, in bytes. */
const OBJECT_BYTES_MAX = 16 * 1024 * 1024;

/** The external tables of one query: views inside the engine, which exist until `drop`. */
export class ExternalTables {
  readonly #connection: QueryConnection;
  readonly #opened = new Set<string>();

  constructor(connection: QueryConnection) {
    this.#connection = connection;
  }

  /** Creates the views of those tables that are external. @throws `unsupported` if no folder is configured; `invalid_arguments`. */
  async open(tables: readonly Table[], deps: { readonly copyRoot: ConfinedFolder | undefined }): Promise<void> {
    for (const table of tables) {
      const name = externalName(table);
      if (!isExternal(table) || this.#opened.has(name)) continue;
      const files = await filesOf(table.options, copyRootOf(deps), this.#connection);
      const relation = externalRelation(table.options['format'] as ExternalFormat, files, table.options['delimiter']);
      const found = await this.#connection.describe(`SELECT * FROM ${relation}`);
      const present = new Set(found.map((column) => column.name));
      const items = table.columns.map((column) => `${valueSql(column, present)} AS ${quoteName(column.name)}`);
      this.#opened.add(name);
      await this.#connection.createView(name, `SELECT ${items.join(', ')} FROM ${relation}`);
    }
  }

  async drop(): Promise<void> {
    for (const name of this.#opened) await this.#connection.dropView(name);
    this.#opened.clear();
  }
}

/** Returns the files of an external table. @throws `invalid_arguments` if there are none. */
export async function filesOf(
  options: Options,
  root: ConfinedFolder,
  connection: QueryConnection,
): Promise<readonly ConfinedFile[]> {
  const location = options[EXTERNAL_LOCATION] ?? '';
  const files = await matchingFiles(await root.filesAt(location), options['pattern'], connection);
  if (files.length > 0) return files;
  throw new AlmanacError('invalid_arguments', `there is no file at '${location}'`);
}

/** Returns the rows of files as the engine reads them; columns are matched by name. */
export function externalRelation(format: ExternalFormat, files: readonly ConfinedFile[], delimiter = ','): string {
  const paths = `[${files.map(({ path }) => quoteText(path)).join(', ')}]`;
  switch (format) {
    case 'parquet':
      return `read_parquet(${paths}, union_by_name = true)`;
    case 'csv':
      return `read_csv(${paths}, union_by_name = true, header = true, delim = ${quoteText(delimiter)}, quote = '"', escape = '"')`;
    case 'json':
      return `read_json(${paths}, union_by_name = true, format = 'auto', maximum_object_size = ${OBJECT_BYTES_MAX})`;
  }
}

function valueSql({ name, type, kind }: Column, present: ReadonlySet<string>): string {
  const { duckdb } = dataType(type);
  const value = present.has(name) ? quoteName(name) : 'NULL';
  const cast = `CAST(${value} AS ${duckdb})`;
  return kind === 'time' ? `coalesce(${cast}, CAST(${NO_TIME} AS ${duckdb}))` : cast;
}
