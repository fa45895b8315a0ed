// Generated from proto/almanac/v1/querier.proto by `npm run generate`. Do not edit.

import type { Call } from '../call.js';

export interface QuerierService {
  /**
   * Runs all statements of the text in order; the first failure ends the stream with its error.
   * Errors: any code of a statement; invalid_syntax before anything ran.
   */
  sql(request: SqlRequest, call: Call): AsyncIterable<SqlEvent>;
}

export interface SqlRequest {
  readonly sql: string;
  /** Session database. */
  readonly database: string;
  /** IANA name or offset; empty: UTC. */
  readonly timezone: string;
  /** Result format, one of services/querier/formats. */
  readonly format: string;
  /** Rows per statement after which the result is cut; absent: none. */
  readonly limit?: number | undefined;
  readonly user: string;
}

/** The answer of a request is a sequence of events: for each statement either `schema`, `text`.., `end`, or `affected`. */
export interface SqlEvent {
  readonly statement: number;
  /** `schema`, `text`, `end` or `affected`. */
  readonly kind: string;
  readonly schema: readonly ResultColumn[];
  /** Rows, already in the words of the format; pieces of one statement are to be joined with the format's separator. */
  readonly text: Uint8Array;
  /** Rows in `text`; on `end` rows in all. */
  readonly rows: number;
  readonly affectedRows: number;
}

export interface ResultColumn {
  readonly name: string;
  /** Native type name. */
  readonly type: string;
}
