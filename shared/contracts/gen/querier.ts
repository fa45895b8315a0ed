// Generated from proto/almanac/v1/querier.proto by `npm run generate`. Do not edit.

import type { Call } from '../call.js';

export interface QuerierService {
  /**
   * Runs all statements of the text in order; the first failure ends the stream with its error.
   * Errors: any code of a statement; invalid_syntax before anything ran.
   */
  sql(request: SqlRequest, call: Call): AsyncIterable<SqlEvent>;
  /** Formats or parses statements without running them: one JSON text. Errors: those of `Sql` before anything ran. */
  sqlParse(request: SqlParseRequest, call: Call): AsyncIterable<PromText>;
  /**
   * Evaluates a PromQL query: the JSON envelope of Prometheus's HTTP API, in chunks. An unknown database is empty.
   * Errors: invalid_syntax with Prometheus's text, before anything is read; execute_query, deadline_exceeded,
   * cancelled.
   */
  promQuery(request: PromQueryRequest, call: Call): AsyncIterable<PromText>;
  /** Returns the same as one table, in the format of `Sql`. Errors: as `PromQuery`, and database_not_found. */
  promTable(request: PromQueryRequest, call: Call): AsyncIterable<SqlEvent>;
  /**
   * Returns labels, series and metadata, in the envelope. Errors: invalid_syntax for a malformed selector,
   * invalid_arguments for a selector that matches every series.
   */
  promSeries(request: PromSeriesRequest, call: Call): AsyncIterable<PromText>;
  /** Formats or parses a query without evaluating it, in the envelope. Errors: invalid_syntax. */
  promParse(request: PromParseRequest, call: Call): AsyncIterable<PromText>;
  /**
   * Returns stored samples in the messages of Prometheus's remote read. An unknown database has none. Errors:
   * invalid_syntax for an invalid regular expression; invalid_arguments for too many samples.
   */
  promRead(request: PromReadRequest, call: Call): AsyncIterable<PromReadPart>;
}

export interface SqlRequest {
  readonly sql: string;
  /** Session database. */
  readonly database: string;
  /** IANA name or offset; empty: UTC. */
  readonly timezone: string;
  /** Result format, one of shared/formats. */
  readonly format: string;
  /** Rows per statement after which the result is cut; absent: no limit. */
  readonly limit?: number | undefined;
  readonly user: string;
  /** Set: a tail. The tables of the statement have only the rows after these positions, and the last event has the new ones. */
  readonly after?: TailPositions | undefined;
}

export interface SqlParseRequest {
  readonly sql: string;
  /** Session database. */
  readonly database: string;
  /** `format`, `tree`, or `positions`: the tree with the position of each node. */
  readonly kind: string;
}

/** Up to where a tail has read the regions of its tables. */
export interface TailPositions {
  /** A region that is not listed has not been read. */
  readonly regions: readonly RegionPosition[];
  /**
   * Whether rows may be among the result that are not after the positions of the request: they became segments together
   * with later rows.
   */
  readonly mayRepeat: boolean;
}

export interface RegionPosition {
  readonly regionId: number;
  /** Last sequence that was read. */
  readonly sequence: bigint;
}

/**
 * A response is a sequence of events: for each statement `result` (schema, one text, number of rows), or `schema`,
 * `text`.., `end`, or `affected`.
 */
export interface SqlEvent {
  readonly statement: number;
  /** `result`, `schema`, `text`, `end` or `affected`. */
  readonly kind: string;
  readonly schema: readonly ResultColumn[];
  /** Rows in the requested format; the texts of one statement are joined with the format's separator. */
  readonly text: Uint8Array;
  /** Rows in `text`; on `end` and `result` the total number of rows. */
  readonly rows: number;
  readonly affectedRows: number;
  /** On `end` and `result` of a tail. */
  readonly positions?: TailPositions | undefined;
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
  /** For an instant query, its time is `start_ms`. */
  readonly endMs: number;
  /** 0: an instant query. */
  readonly stepMs: number;
  /** 0: as configured. */
  readonly lookbackMs: number;
  /** Series after which the result is cut; 0: no limit. */
  readonly limit: number;
  /** Statistics to add: empty: none; `all`: also those of each step. */
  readonly stats: string;
  /** Format of a table, one of shared/formats; absent: the default one. */
  readonly format?: string | undefined;
}

export interface PromSeriesRequest {
  /** `labels`, `label_values`, `series`, `facts`, `metadata` or `exemplars`. */
  readonly kind: string;
  readonly database: string;
  /** For `label_values` the label, for `metadata` the metric (empty: all), for `exemplars` the query. */
  readonly name: string;
  /** Selectors: series that match any of them. None: all series. */
  readonly matches: readonly string[];
  readonly fromMs: number;
  readonly toMs: number;
  /** Entries after which the result is cut; absent: no limit. */
  readonly limit?: number | undefined;
  /** For `metadata`: limit of entries per metric. */
  readonly limitPerMetric?: number | undefined;
}

export interface PromParseRequest {
  readonly query: string;
  /** `format`, `tree`, or `positions`: the tree with the position of each node. */
  readonly kind: string;
}

export interface PromText {
  /** Chunk of a JSON text in UTF-8. */
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

/** The parts of one query follow each other, queries in their order; a query without samples has no part. */
export interface PromReadPart {
  /** Index of the query. */
  readonly query: number;
  /** Messages, or chunks of them that are to be concatenated. */
  readonly data: Uint8Array;
}
