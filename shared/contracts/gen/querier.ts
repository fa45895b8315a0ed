// Generated from proto/almanac/v1/querier.proto by `npm run generate`. Do not edit.

import type { Call } from '../call.js';

export interface QuerierService {
  /**
   * Runs all statements of the text in order; the first failure ends the stream with its error.
   * Errors: any code of a statement; invalid_syntax before anything ran.
   */
  sql(request: SqlRequest, call: Call): AsyncIterable<SqlEvent>;
  /**
   * Evaluates a PromQL query: the JSON envelope of Prometheus's HTTP API, in pieces. An unknown database is empty.
   * Errors: invalid_syntax in Prometheus's words, before anything is read; execute_query, deadline_exceeded, cancelled.
   */
  promQuery(request: PromQueryRequest, call: Call): AsyncIterable<PromText>;
  /** The same as one table, as `Sql` answers. Errors: as `PromQuery`, and database_not_found. */
  promTable(request: PromQueryRequest, call: Call): AsyncIterable<SqlEvent>;
  /**
   * What there is to ask for: the envelope again.
   * Errors: invalid_syntax for a malformed selector, invalid_arguments for one that all series fit.
   */
  promSeries(request: PromSeriesRequest, call: Call): AsyncIterable<PromText>;
  /** What a query says, without asking it: the envelope again. Errors: invalid_syntax. */
  promParse(request: PromParseRequest, call: Call): AsyncIterable<PromText>;
  /**
   * Samples as they are stored, in the messages of Prometheus's remote read. An unknown database has none.
   * Errors: invalid_syntax for a regular expression that is none; invalid_arguments for too many samples.
   */
  promRead(request: PromReadRequest, call: Call): AsyncIterable<PromReadPart>;
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

/**
 * The answer of a request is a sequence of events: for each statement `result` (schema, one text, rows in all), or
 * `schema`, `text`.., `end`, or `affected`.
 */
export interface SqlEvent {
  readonly statement: number;
  /** `result`, `schema`, `text`, `end` or `affected`. */
  readonly kind: string;
  readonly schema: readonly ResultColumn[];
  /** Rows, already in the words of the format; pieces of one statement are to be joined with the format's separator. */
  readonly text: Uint8Array;
  /** Rows in `text`; on `end` and `result` rows in all. */
  readonly rows: number;
  readonly affectedRows: number;
}

export interface ResultColumn {
  readonly name: string;
  /** Native type name. */
  readonly type: string;
}

export interface PromQueryRequest {
  readonly database: string;
  readonly query: string;
  readonly startMs: number;
  /** Of an instant query its time, as `start_ms`. */
  readonly endMs: number;
  /** 0: an instant query. */
  readonly stepMs: number;
  /** 0: as configured. */
  readonly lookbackMs: number;
  /** Series after which the result is cut; 0: none. */
  readonly limit: number;
  /** Statistics to add: none if empty, those of each step too if `all`. */
  readonly stats: string;
}

export interface PromSeriesRequest {
  /** `labels`, `label_values`, `series`, `facts`, `metadata` or `exemplars`. */
  readonly kind: string;
  readonly database: string;
  /** Of `label_values` the label, of `metadata` the metric (empty: all), of `exemplars` the query. */
  readonly name: string;
  /** Selectors: what fits any of them is meant. None: everything. */
  readonly matches: readonly string[];
  readonly fromMs: number;
  readonly toMs: number;
  /** Entries after which the answer is cut; absent: none. */
  readonly limit?: number | undefined;
  /** Of `metadata`: entries of each metric. */
  readonly limitPerMetric?: number | undefined;
}

export interface PromParseRequest {
  readonly query: string;
  /** `format` or `tree`. */
  readonly kind: string;
}

export interface PromText {
  /** Piece of a JSON text in UTF-8. */
  readonly text: Uint8Array;
}

export interface PromReadRequest {
  readonly database: string;
  readonly queries: readonly PromReadQuery[];
  /** `samples`: fields of each query's QueryResult; `chunks`: whole frames of ChunkedReadResponse. */
  readonly format: string;
}

export interface PromReadQuery {
  /** Milliseconds, both ends included. */
  readonly startMs: number;
  readonly endMs: number;
  readonly matchers: readonly PromMatcher[];
}

export interface PromMatcher {
  /** `=`, `!=`, `=~` or `!~`. */
  readonly op: string;
  readonly name: string;
  readonly value: string;
}

/** The parts of one query come one after the other, queries in their order; one without samples has no part. */
export interface PromReadPart {
  /** Which query it answers. */
  readonly query: number;
  /** Messages, or pieces of them that are to be joined. */
  readonly data: Uint8Array;
}
