import type { Call } from '#shared/contracts/call';
import type { Table } from '#shared/contracts/gen/common';
import { requireAccess, requireDatabase, type Access } from '#shared/contracts/rights';
import type { Catalog } from '#shared/discovery/catalog';
import { quoteName } from '#shared/duckdb/quote';
import { AlmanacError } from '#shared/errors/almanac-error';

import type { Ast } from '../syntax/ast.js';
import { sourceOf, type LogicalTables } from '../../snapshot/logical-table.js';
import { NUMBERS } from './numbers-table.js';
import type { TableLookup } from './resolve.js';

/** Accepted catalog names, whichever of them messages use. */
const CATALOGS = new Set(['almanac', 'greptime']);

/** Finds tables by the names that statements use, and creates the errors for missing ones. */
export class TableNames {
  readonly #catalog: Catalog;
  readonly #catalogName: string;
  readonly #metrics: LogicalTables;
  /** The table that each error of `notFound` is about. */
  readonly #missing = new WeakMap<AlmanacError, { readonly database: string; readonly name: string }>();

  constructor(catalog: Catalog, catalogName: string, metrics: LogicalTables) {
    this.#catalog = catalog;
    this.#catalogName = catalogName;
    this.#metrics = metrics;
  }

  /** Returns `almanac.public.cpu`, the name in messages. */
  fullName(database: string, name: string): string {
    return `${this.#catalogName}.${database}.${name}`;
  }

  /** Returns the database of a reference, whose parts but the last may be empty. */
  databaseOf(catalog: string, schema: string, sessionDatabase: string): string {
    if (catalog !== '' && !CATALOGS.has(catalog) && catalog !== this.#catalogName) {
      throw new AlmanacError('database_not_found', `Catalog not found: ${catalog}`);
    }
    return schema === '' ? sessionDatabase : schema;
  }

  /**
   * Finds a table; undefined if it, or its database, does not exist. A table takes precedence over a metric of the same name.
   *
   * @param access that the caller must have. @throws `access_denied`, `permission_denied`.
   */
  async find(database: string, name: string, call: Call, access: Access = 'read'): Promise<Table | undefined> {
    requireAccess(call, access, database);
    return unlessMissing(async () => {
      const table = await unlessMissing(() => this.#catalog.table(database, name, call));
      return table ?? (await this.#metrics.find(database, name, call));
    });
  }

  /**
   * Finds a stored table that is to be changed.
   *
   * @param action for the message. @throws as `find` does; `unsupported` for a metric, which has no table of its own.
   */
  async findStored(database: string, name: string, action: string, call: Call): Promise<Table | undefined> {
    const table = await this.find(database, name, call, 'write');
    const source = table === undefined ? undefined : sourceOf(table);
    if (source === undefined) return table;
    const where = this.fullName(database, source.physical.name);
    const text = `Not supported: ${action} on metric "${name}", which is a part of the physical table ${where}`;
    throw new AlmanacError('unsupported', text);
  }

  /** Does the same as `findStored`. @throws `table_not_found` too. */
  async getStored(database: string, name: string, action: string, call: Call): Promise<Table> {
    const table = await this.findStored(database, name, action, call);
    if (table === undefined) throw await this.hinted(this.notFound(database, name), call);
    return table;
  }

  /** Returns the names of all tables and metrics of a database, ascending. @throws `database_not_found`. */
  async all(database: string, call: Call): Promise<string[]> {
    requireDatabase(call, database);
    const tables = await this.#catalog.tables(database, call);
    const names = new Set(tables.map(({ name }) => name));
    for (const name of await this.#metrics.names(database, call)) names.add(name);
    return [...names].sort((a, b) => (a < b ? -1 : 1));
  }

  /** Finds a table. @throws as `find` does; `table_not_found`. */
  async get(database: string, name: string, call: Call, access: Access = 'read'): Promise<Table> {
    const table = await this.find(database, name, call, access);
    if (table === undefined) throw await this.hinted(this.notFound(database, name), call);
    return table;
  }

  current(table: Table, call: Call): Promise<Table | undefined> {
    return this.find(table.database, table.name, call);
  }

  notFound(database: string, name: string, prefix = ''): AlmanacError {
    const text = `${prefix}Table not found: ${this.fullName(database, name)}`;
    const error = new AlmanacError('table_not_found', text);
    this.#missing.set(error, { database, name });
    return error;
  }

  async #alike(database: string, name: string, call: Call): Promise<string | undefined> {
    const folded = name.toLowerCase();
    const tables = await this.#catalog.tables(database, call);
    const table = tables.find((it) => it.name.toLowerCase() === folded);
    return table?.name ?? (await this.#metrics.alike(database, name, call));
  }

  /** Adds a hint to an error of `notFound` if the name exists in another letter case: names are folded unless quoted. */
  async hinted(error: unknown, call: Call): Promise<unknown> {
    if (!(error instanceof AlmanacError)) return error;
    const missing = this.#missing.get(error);
    if (missing === undefined) return error;
    const { database, name } = missing;
    const other = await this.#alike(database, name, call).catch(() => undefined);
    if (other === undefined) return error;
    return new AlmanacError(error.code, `${error.message}, did you mean ${quoteName(other)}?`, { cause: error });
  }
}

async function unlessMissing<T>(find: () => Promise<T>): Promise<T | undefined> {
  try {
    return await find();
  } catch (error) {
    const code = error instanceof AlmanacError ? error.code : undefined;
    if (code === 'table_not_found' || code === 'database_not_found') return undefined;
    throw error;
  }
}

/**
 * Looks up all tables that a query names, before it is resolved.
 *
 * @returns a lookup for the resolver, which throws `table_not_found` for missing tables: only the resolver knows which names
 * are common table expressions.
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
    const table = found.get(`${database}\0${name}`) ?? (isNumbers(database, name) ? NUMBERS : undefined);
    if (table === undefined) throw names.notFound(database, name, 'Failed to plan SQL: ');
    return table;
  };
}

function isNumbers(database: string, name: string): boolean {
  return database === NUMBERS.database && name === NUMBERS.name;
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
