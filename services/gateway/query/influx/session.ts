import type { Slices } from '#shared/clock/slices';
import type { Call } from '#shared/contracts/call';
import type { Database } from '#shared/contracts/gen/common';
import type { Catalog } from '#shared/discovery/catalog';
import { AlmanacError } from '#shared/errors/almanac-error';

import type { JsonValue } from '../../protocols/common/json.js';
import type { SqlRow } from '../sql-rows.js';

/** A table of a reply. */
export interface InfluxSeries {
  /** Absent for tables without a name. */
  readonly name?: string;
  /** Values of the tags of `GROUP BY`. */
  readonly tags?: Readonly<Record<string, string>>;
  readonly columns: readonly string[];
  readonly values: readonly (readonly JsonValue[])[];
}

/** Largest number of values in the results of a request. */
const VALUES_MAX = 500_000;

/** Counts the values of the results of a request. */
export class ResultRoom {
  #left = VALUES_MAX;

  /** Returns how many rows with `width` values fit. */
  rows(width: number): number {
    return Math.floor(this.#left / width);
  }

  /** Reserves room for rows. @throws `invalid_arguments` if there is too little. */
  reserve(rowCount: number, width: number): void {
    this.#left -= rowCount * width;
    if (this.#left < 0) throw tooManyValues();
  }
}

/** Returns the error of results that are too large. */
export function tooManyValues(): AlmanacError {
  const text = `results have more than ${VALUES_MAX} values: use a longer interval, a shorter range or LIMIT`;
  return new AlmanacError('invalid_arguments', text);
}

/** What statements run with. */
export interface InfluxSession {
  readonly catalog: Catalog;
  /** Database of statements that name none. */
  readonly database: string;
  readonly call: Call;
  readonly nowMs: number;
  /** Lets other requests run during long work. */
  readonly slices: Slices;
  /** Room for the values of all results of the request, which are held in memory. */
  readonly room: ResultRoom;
  /** Returns a time as the client wants it. */
  readonly timeOf: (ns: bigint) => JsonValue;
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
