import type { Column, Table } from '#shared/contracts/gen/common';
import type { ValueType } from '#shared/duckdb/chunk-reader';
import type { QueryConnection } from '#shared/duckdb/query-connection';
import { quoteName } from '#shared/duckdb/quote';
import { AlmanacError } from '#shared/errors/almanac-error';
import type { ConfinedFile, ConfinedFolder } from '#shared/fs/confined-folder';
import { dataType } from '#shared/schema/data-type';
import { EXTERNAL_LOCATION, isExternal } from '#shared/schema/external-table';

import { externalName } from '../system-tables/given-table.js';
import { declaredSql } from './declared-value.js';
import { csvRelation, jsonObjects, jsonRelation, parquetRelation, textOptions } from './file-relations.js';
import { matchColumns } from './match-columns.js';
import { matchingFiles } from './matching-files.js';
import { copyRootOf } from './copy-root.js';

/** Formats of the files of external tables. */
export type ExternalFormat = 'parquet' | 'csv' | 'json';

type Options = Readonly<Partial<Record<string, string>>>;

/** Time of rows whose files have none. */
const NO_TIME = "TIMESTAMP '1970-01-01 00:00:00'";
/** Objects of JSON that names of members are taken from. */
const SAMPLE_OBJECTS = 20_480;
const MEMBERS_MAX = 10_000;
const TEXT: ValueType = { name: 'String', kind: 'text' };

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
      const { relation, valueOf } = await this.#relationOf(table, files);
      const items = table.columns.map((column) => `${valueOf(column)} AS ${quoteName(column.name)}`);
      this.#opened.add(name);
      await this.#connection.createView(name, `SELECT ${items.join(', ')} FROM ${relation}`);
    }
  }

  /** Returns the relation of the files, and how the value of a column follows from its columns. */
  async #relationOf(
    { options, columns }: Table,
    files: readonly ConfinedFile[],
  ): Promise<{ readonly relation: string; readonly valueOf: (column: Column) => string }> {
    const format = options['format'] as ExternalFormat;
    const texts = textOptions(options['delimiter']);
    const typeOf = new Map<string, ValueType>();
    let relation = '';
    if (format === 'json') {
      for (const name of await this.#members(files)) typeOf.set(name, TEXT);
    } else {
      relation = format === 'csv' ? csvRelation(files, texts) : parquetRelation(files);
      for (const { name, type } of await this.#connection.describe(`SELECT * FROM ${relation}`)) typeOf.set(name, type);
    }
    const sources = matchColumns(columns, [...typeOf.keys()]);
    const valueOf = (column: Column): string => {
      // The first objects need not have all members.
      const source = sources.get(column.name) ?? (format === 'json' ? column.name : undefined);
      const { duckdb } = dataType(column.type);
      const from = source === undefined ? undefined : (typeOf.get(source) ?? TEXT);
      const value =
        from === undefined ? `CAST(NULL AS ${duckdb})` : declaredSql(column, quoteName(source ?? ''), from, format);
      return column.kind === 'time' ? `coalesce(${value}, CAST(${NO_TIME} AS ${duckdb}))` : value;
    };
    if (format !== 'json') return { relation, valueOf };
    const names = columns.map(({ name }) => sources.get(name) ?? name);
    return { relation: jsonRelation(files, texts, names), valueOf };
  }

  /** Returns the names of the members that the first objects of JSON files have. */
  async #members(files: readonly ConfinedFile[]): Promise<string[]> {
    const first = `SELECT json FROM ${jsonObjects(files, textOptions())} LIMIT ${SAMPLE_OBJECTS}`;
    const sql = `SELECT DISTINCT unnest(json_keys(json)) FROM (${first}) LIMIT ${MEMBERS_MAX}`;
    const { signal } = new AbortController();
    const names = [...(await this.#connection.run(sql, signal)).blocks()].flatMap((block) => block.cells(0));
    return names.filter((name) => typeof name === 'string');
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
