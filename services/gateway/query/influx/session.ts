import type { Call } from '#shared/contracts/call';
import type { Database } from '#shared/contracts/gen/common';
import type { Catalog } from '#shared/discovery/catalog';
import { AlmanacError } from '#shared/errors/almanac-error';

import type { SqlRow } from '../sql-rows.js';

/** A table of a reply. */
export interface InfluxSeries {
  /** Absent for tables without a name. */
  readonly name?: string;
  readonly columns: readonly string[];
  readonly values: readonly (readonly unknown[])[];
}

/** What statements run with. */
export interface InfluxSession {
  readonly catalog: Catalog;
  /** Database of statements that name none. */
  readonly database: string;
  readonly call: Call;
  readonly nowMs: number;
  /** Runs a statement of SQL, in `database` if it reads tables. */
  readonly execute: (sql: string, database?: string) => Promise<readonly SqlRow[]>;
}

/** A statement that was read. */
export interface InfluxStatement {
  readonly isReadOnly: boolean;
  /** As its text began. */
  readonly words: string;
  run(session: InfluxSession): Promise<readonly InfluxSeries[]>;
}

/** Returns a database. @throws `database_not_found` in the words of InfluxDB. */
export async function databaseOf({ catalog, call }: InfluxSession, name: string): Promise<Database> {
  try {
    return await catalog.database(name, call);
  } catch (thrown) {
    const error = AlmanacError.from(thrown);
    if (error.code !== 'database_not_found') throw error;
    throw new AlmanacError('database_not_found', `database not found: ${name}`);
  }
}
