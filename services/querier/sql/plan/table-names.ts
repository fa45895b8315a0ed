import type { Call } from '#shared/contracts/call';
import type { Column, Table } from '#shared/contracts/gen/common';
import type { View } from '#shared/contracts/gen/metadata';
import { requireAccess, requireDatabase, type Access } from '#shared/contracts/rights';
import type { ViewCatalog } from '#shared/discovery/catalog';
import { quoteName } from '#shared/duckdb/quote';
import { AlmanacError } from '#shared/errors/almanac-error';
import { isExternal } from '#shared/schema/external-table';
import { isSystemDatabase } from '#shared/schema/system-database';

import { isView, viewColumns } from '../system-tables/view-columns.js';
import { sourceOf, type LogicalTables } from '../../snapshot/logical-table.js';
import { findSystemTable, systemTableNames } from '../system-tables/registry.js';
import type { SystemTableSource } from '../system-tables/system-table.js';

/** Accepted catalog names, whichever of them messages use. */
const CATALOGS = new Set(['almanac', 'greptime']);

/** What statements about columns need to know of a table or a view. */
export interface NamedColumns {
  readonly database: string;
  readonly name: string;
  readonly columns: readonly Column[];
  /** Undefined for a view. */
  readonly primaryKey: readonly string[] | undefined;
}

/** Finds tables by the names that statements use, and creates the errors for missing ones. */
export class TableNames {
  readonly #catalog: ViewCatalog;
  readonly #catalogName: string;
  readonly #metrics: LogicalTables;
  /** The table that each error of `notFound` is about. */
  readonly #missing = new WeakMap<AlmanacError, { readonly database: string; readonly name: string }>();

  constructor(catalog: ViewCatalog, catalogName: string, metrics: LogicalTables) {
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
   * All users may read system tables, whose rows are only of what they may read; a stored table of the same name takes
   * precedence over `public.numbers`.
   *
   * @param access that the caller must have.
   * @throws `access_denied`, `permission_denied`; `unsupported` if a database of system tables is to be changed.
   */
  async find(database: string, name: string, call: Call, access: Access = 'read'): Promise<Table | undefined> {
    if (isSystemDatabase(database)) {
      if (access === 'read') return findSystemTable(database, name);
      throw new AlmanacError('unsupported', `Schema \`${database}\` is read-only`);
    }
    requireAccess(call, access, database);
    const stored = await unlessMissing(async () => {
      const table = await unlessMissing(() => this.#catalog.table(database, name, call));
      return table ?? (await this.#metrics.find(database, name, call));
    });
    return stored ?? (access === 'read' ? findSystemTable(database, name) : undefined);
  }

  /** Does the same as `find` for a table or a view to be read. */
  async findSource(database: string, name: string, call: Call): Promise<Table | View | undefined> {
    const seen = isSystemDatabase(database) ? undefined : this.#catalog.views.known(database, name);
    if (seen === undefined) {
      const table = await this.find(database, name, call);
      if (table !== undefined || isSystemDatabase(database)) return table;
    }
    return this.findView(database, name, call);
  }

  /** Finds a view. @throws `access_denied`, `permission_denied` unless the caller may read its database. */
  async findView(database: string, name: string, call: Call): Promise<View | undefined> {
    if (isSystemDatabase(database)) return undefined;
    requireAccess(call, 'read', database);
    return this.#catalog.views.find(database, name, call);
  }

  /** Returns the views of a database, by name. @throws `access_denied`. */
  viewsOf(database: string, call: Call): readonly View[] {
    if (!isSystemDatabase(database)) requireDatabase(call, database);
    return this.#catalog.views.ofDatabase(database);
  }

  /** Checks that a caller may read tables that it did not look up. @throws `access_denied`, `permission_denied`. */
  checkReadable(database: string, call: Call): void {
    if (!isSystemDatabase(database)) requireAccess(call, 'read', database);
  }

  /** Finds the columns of a table or a view. @throws as `findSource` does; `table_not_found`. */
  async getSource(database: string, name: string, call: Call): Promise<NamedColumns> {
    const source = await this.findSource(database, name, call);
    if (source === undefined) throw await this.hinted(this.notFound(database, name), call);
    return isView(source) ? { ...source, columns: viewColumns(source), primaryKey: undefined } : source;
  }

  /** Checks that a session may use a database. @throws `access_denied`, `database_not_found`. */
  async checkDatabase(database: string, call: Call): Promise<void> {
    if (isSystemDatabase(database)) return;
    requireDatabase(call, database);
    await this.#catalog.database(database, call);
  }

  /** Returns the parts of the source of system tables that belong to the names. */
  systemSource(): Pick<SystemTableSource, 'catalog' | 'catalogName' | 'metrics'> {
    return { catalog: this.#catalog, catalogName: this.#catalogName, metrics: this.#metrics };
  }

  /**
   * Finds a stored table that is to be changed.
   *
   * @param action for the message. @throws as `find` does; `unsupported` for a metric, which has no table of its own.
   */
  async findStored(database: string, name: string, action: string, call: Call): Promise<Table | undefined> {
    const table = await this.find(database, name, call, 'write');
    if (table !== undefined && action !== 'DROP TABLE') this.#checkStored(table, action);
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
    if (isSystemDatabase(database)) return systemTableNames(database);
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
    if (access !== 'read') this.#checkStored(table, 'a write');
    return table;
  }

  #checkStored(table: Table, action: string): void {
    if (!isExternal(table)) return;
    const fullName = this.fullName(table.database, table.name);
    throw new AlmanacError('unsupported', `Not supported: ${action} to ${fullName}, which is an external table`);
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
    if (this.#catalog.views.known(database, name) !== undefined) {
      const text = `${this.fullName(database, name)} is a view: only queries can use it like a table`;
      return new AlmanacError('invalid_arguments', text, { cause: error });
    }
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
