// Generated from proto/almanac/v1/ingester.proto by `npm run generate`. Do not edit.

import type { Call } from '../call.js';
import type { RegionManifest } from './common.js';

export interface IngesterService {
  /**
   * Makes one batch durable, then visible. A batch id that was applied before is answered again, not applied again.
   * Errors: region_not_ready (another owner, or none), region_busy (memory stays full), request_outdated (the id is too
   * old to be known), table_not_found, storage_unavailable.
   */
  write(request: WriteRequest, call: Call): Promise<WriteResponse>;
  /**
   * Of each region of the request, rows after the caller's watermark that it lacks, as row batches, oldest first, and
   * series that no file has yet; a region's last part has `complete`. Errors: region_not_ready, table_not_found,
   * invalid_arguments (more than 1,024 regions, or one of them twice; so too in the calls below).
   */
  scan(request: ScanRequest, call: Call): AsyncIterable<ScanChunk>;
  /** Makes all rows that were acknowledged before the call durable as segments. Errors: table_not_found. */
  flushTable(request: FlushTableRequest, call: Call): Promise<FlushTableResponse>;
  /**
   * Merges the segments of each time window until there is one of each series. Rows in memory stay there. Errors:
   * table_not_found, region_busy (merged by another call for too long).
   */
  compactTable(request: CompactTableRequest, call: Call): Promise<CompactTableResponse>;
  /** Flushes, then hides every row acknowledged before the call. Errors: table_not_found. */
  truncateTable(request: TruncateRequest, call: Call): Promise<TruncateResponse>;
  /**
   * Takes no more batches of tables that metadata has dropped, and forgets what it holds of them: after the answer no
   * batch is acknowledged into them. Tables that it has nothing of are passed over; it may be called again.
   * Errors: region_not_ready (metadata has one of the tables: the caller took this process for another).
   */
  dropTables(request: DropTablesRequest, call: Call): Promise<DropTablesResponse>;
}

export interface WriteRequest {
  readonly tableId: number;
  readonly regionId: number;
  readonly epoch: number;
  readonly schemaVersion: number;
  /** 16 bytes: incarnation of the sender and a counter, or a hash of the client's idempotency key. */
  readonly batchId: Uint8Array;
  /** One Arrow IPC stream (docs/formats/row-batch.md). */
  readonly batch: Uint8Array;
  /** Definitions of series (docs/formats/row-batch.md); may be empty. */
  readonly definitions: Uint8Array;
  /**
   * Of deletions: the region as it was read when they were decided on. If a row of theirs was written since, the batch is
   * refused with `illegal_state`. Zero: none is looked for.
   */
  readonly asOf: bigint;
}

export interface WriteResponse {
  /**
   * Positions in the batch's list of series that the owner does not know: send again with their definitions. When this
   * is not empty, nothing was applied.
   */
  readonly unknownSeries: readonly number[];
  /** Which life of the owner answered; what a sender believes to be known there holds only for it. */
  readonly incarnation: bigint;
}

export interface ScanRequest {
  readonly tableId: number;
  /** All of them must be the ingester's own: where one is not, the whole call fails, and the caller asks again. */
  readonly regions: readonly ScanRegion[];
}

/** What the caller has of one region. */
export interface ScanRegion {
  readonly regionId: number;
  /** The grant that the caller knows; another one that is open here is refused with region_not_ready. Zero: any. */
  readonly epoch: number;
  /** Manifest version and watermark that the caller reads segments by. */
  readonly manifestVersion: bigint;
  readonly watermark: bigint;
  /** What the caller already holds: rows (have_from, have_to] of `have_incarnation`, and series below `have_series`. */
  readonly haveIncarnation: bigint;
  readonly haveFrom: bigint;
  readonly haveTo: bigint;
  readonly haveSeries: number;
}

export interface ScanBatch {
  readonly sequenceFrom: bigint;
  readonly sequenceTo: bigint;
  /** One Arrow IPC stream. */
  readonly batch: Uint8Array;
  /** Series number of each entry of the batch's list of series. */
  readonly sids: readonly number[];
  /** Time range of rows that may be versions of older rows; absent means none. */
  readonly hasLate: boolean;
  readonly lateFirst: bigint;
  readonly lateLast: bigint;
  readonly timeFirst: bigint;
  readonly timeLast: bigint;
  /** Batches of one generation become segments together: a watermark never falls inside a generation. */
  readonly generation: number;
}

/** What the caller lacks of one region, or a piece of it. */
export interface ScanPart {
  readonly regionId: number;
  /** Set, and alone, when the caller's watermark is behind what is still held: read again with this manifest. */
  readonly newerManifest?: RegionManifest | undefined;
  readonly batches: readonly ScanBatch[];
  /** Definitions of series [series_from, series_to), in order of their numbers. */
  readonly seriesFrom: number;
  readonly seriesTo: number;
  readonly definitions: Uint8Array;
  /** Set on the region's last part: its rows are all those up to `sequence_to`. */
  readonly complete: boolean;
  readonly sequenceTo: bigint;
}

/** Some MiB at most, unless a single batch is longer. */
export interface ScanChunk {
  /** Region by region, in the order of the request. When nothing is new one chunk has a few bytes for each region. */
  readonly parts: readonly ScanPart[];
  readonly incarnation: bigint;
}

export interface FlushTableRequest {
  readonly tableId: number;
  /** The regions to flush. All of them must be the ingester's own: an address may have passed to another node. */
  readonly regionIds: readonly number[];
}

export interface FlushTableResponse {
  readonly segments: number;
}

export interface CompactTableRequest {
  readonly tableId: number;
  /** The regions to compact. All of them must be the ingester's own, as in FlushTableRequest. */
  readonly regionIds: readonly number[];
}

export interface CompactTableResponse {
  /** How many segments were replaced. */
  readonly segments: number;
}

export interface TruncateRequest {
  readonly tableId: number;
  /** The regions to truncate. All of them must be the ingester's own, as in FlushTableRequest. */
  readonly regionIds: readonly number[];
}

export type TruncateResponse = Readonly<Record<string, never>>;

export interface DropTablesRequest {
  readonly tableIds: readonly number[];
}

export type DropTablesResponse = Readonly<Record<string, never>>;
