import type { Database, Table } from '#shared/contracts/gen/common';
import type { Call } from '#shared/contracts/call';

/** The catalog as a process sees it: warm, and read through once before something is said not to exist. */
export interface Catalog {
  /** Grows with every change this process knows of; a key for plan caches. */
  readonly version: bigint;
  /** @throws `database_not_found`. */
  database(name: string, call: Call): Promise<Database>;
  databases(call: Call): Promise<readonly Database[]>;
  /** @throws `database_not_found`, `table_not_found`. */
  table(database: string, name: string, call: Call): Promise<Table>;
  /** All tables of a database, by name. @throws `database_not_found`. */
  tables(database: string, call: Call): Promise<readonly Table[]>;
  /** Asks metadata for the present form of a table: somebody else knows a newer one. @throws `table_not_found`. */
  renew(tableId: number, call: Call): Promise<void>;
  /** Waits until changes up to `version` are seen here; called with the version that a DDL answer carries. */
  reached(version: bigint, call: Call): Promise<void>;
}
