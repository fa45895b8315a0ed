import type { Call } from '#shared/contracts/call';
import type { Table } from '#shared/contracts/gen/common';
import type { Catalog } from '#shared/discovery/catalog';
import { AlmanacError } from '#shared/errors/almanac-error';

import type { Ast } from './ast.js';
import type { TableLookup } from './resolve.js';

/** Catalog names that are understood, whatever the one in messages is. */
const CATALOGS = new Set(['almanac', 'greptime']);

/** Finds tables by the names that statements use, and says so in their words when there is none. */
export class TableNames {
  readonly #catalog: Catalog;
  readonly #catalogName: string;

  constructor(catalog: Catalog, catalogName: string) {
    this.#catalog = catalog;
    this.#catalogName = catalogName;
  }

  /** `almanac.public.cpu`, as messages name a table. */
  fullName(database: string, name: string): string {
    return `${this.#catalogName}.${database}.${name}`;
  }

  /** Database of a reference; the parts but the last may be empty. */
  databaseOf(catalog: string, schema: string, sessionDatabase: string): string {
    if (catalog !== '' && !CATALOGS.has(catalog) && catalog !== this.#catalogName)
      throw new AlmanacError('database_not_found', `Catalog not found: ${catalog}`);
    return schema === '' ? sessionDatabase : schema;
  }

  /** Undefined if the table, or its database, is not there. */
  async find(database: string, name: string, call: Call): Promise<Table | undefined> {
    try {
      return await this.#catalog.table(database, name, call);
    } catch (error) {
      if (error instanceof AlmanacError && (error.code === 'table_not_found' || error.code === 'database_not_found'))
        return undefined;
      throw error;
    }
  }

  /** @param prefix what the message begins with. @throws `table_not_found`. */
  async get(database: string, name: string, call: Call, prefix = ''): Promise<Table> {
    const table = await this.find(database, name, call);
    if (table === undefined) throw this.notFound(database, name, prefix);
    return table;
  }

  current(table: Table, call: Call): Promise<Table | undefined> {
    return this.find(table.database, table.name, call);
  }

  notFound(database: string, name: string, prefix = ''): AlmanacError {
    return new AlmanacError('table_not_found', `${prefix}Table not found: ${this.fullName(database, name)}`);
  }
}

/**
 * Looks all tables up that a query names, before it is resolved.
 *
 * @returns a lookup for the resolver, which throws `table_not_found` for those that are not there: only it knows which
 * names are those of common table expressions.
 */
export async function findTables(
  query: Ast,
  sessionDatabase: string,
  names: TableNames,
  call: Call,
): Promise<TableLookup> {
  const found = new Map<string, Table | undefined>();
  for (const { catalog, schema, name } of references(query)) {
    const database = names.databaseOf(catalog, schema, sessionDatabase);
    const key = `${database}\0${name}`;
    if (!found.has(key)) found.set(key, await names.find(database, name, call));
  }
  return (catalog, schema, name) => {
    const database = names.databaseOf(catalog, schema, sessionDatabase);
    const table = found.get(`${database}\0${name}`);
    if (table === undefined) throw names.notFound(database, name, 'Failed to plan SQL: ');
    return table;
  };
}

interface Reference {
  readonly catalog: string;
  readonly schema: string;
  readonly name: string;
}

function references(tree: unknown): Reference[] {
  if (tree === null || typeof tree !== 'object') return [];
  if (Array.isArray(tree)) return tree.flatMap(references);
  const node = tree as Ast & Record<string, unknown>;
  const own =
    node.type === 'BASE_TABLE' && node.class === undefined
      ? [{ catalog: node.catalog_name ?? '', schema: node.schema_name ?? '', name: node.table_name ?? '' }]
      : [];
  return [...own, ...Object.values(node).flatMap(references)];
}
