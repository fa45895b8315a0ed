import type { Database, Table } from '#shared/contracts/gen/common';
import type { Call } from '#shared/contracts/call';
import type { Views } from './view-cache.js';

/** The catalog as a process sees it: cached, and read through to metadata once before something is reported missing. */
export interface Catalog {
  /** Increases with every change that this process knows of; a cache key for plans. */
  readonly version: bigint;
  /** @throws `database_not_found`. */
  database(name: string, call: Call): Promise<Database>;
  databases(call: Call): Promise<readonly Database[]>;
  /** @throws `database_not_found`, `table_not_found`. */
  table(database: string, name: string, call: Call): Promise<Table>;
  /** All tables of a database, by name. @throws `database_not_found`. */
  tables(database: string, call: Call): Promise<readonly Table[]>;
  /** Fetches the current schema of a table from metadata, after another process has shown a newer one. @throws `table_not_found`. */
  renew(tableId: number, call: Call): Promise<void>;
  /** Waits until changes up to `version` are visible here; called with the version that a DDL response carries. */
  reached(version: bigint, call: Call): Promise<void>;
}

/** The catalog of processes that run SQL. */
export interface ViewCatalog extends Catalog {
  readonly views: Views;
}
