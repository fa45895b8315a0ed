// Generated from proto/almanac/v1/ingester.proto by `npm run generate`. Do not edit.

import type { Call } from '../call.js';
import type { FlowOwner, RegionManifest } from './common.js';

export interface IngesterService {
  /**
   * Makes one batch durable, then visible. A batch id that was applied before is acknowledged and not applied again.
   * Errors: region_not_ready (another owner, or none), region_busy (memory stays full), request_outdated (the id is too
   * old to be known), table_not_found, storage_unavailable.
   */
  write(request: WriteRequest, call: Call): Promise<WriteResponse>;
  /**
   * Returns, for each region, the rows after the caller's watermark that it does not have, as row batches, oldest
   * first, and series that are in no file yet; a region's last part has `complete`. Errors: region_not_ready,
   * table_not_found, invalid_arguments (more than 1,024 regions, or duplicates; also in the calls below).
   */
  scan(request: ScanRequest, call: Call): AsyncIterable<ScanChunk>;
  /** Flushes all rows that were acknowledged before the call to segments. Errors: table_not_found. */
  flushTable(request: FlushTableRequest, call: Call): Promise<FlushTableResponse>;
  /**
   * Merges the segments of each time window until each series is in one segment. Does not flush. Errors:
   * table_not_found, region_busy (other merges take too long).
   */
  compactTable(request: CompactTableRequest, call: Call): Promise<CompactTableResponse>;
  /** Flushes, then hides every row that was acknowledged before the call. Errors: table_not_found. */
  truncateTable(request: TruncateRequest, call: Call): Promise<TruncateResponse>;
  /**
   * Closes the regions of tables that metadata has dropped: after the response no batch of them is acknowledged. Tables
   * without regions here are ignored; the call can be repeated. Errors: region_not_ready (a table still exists: the
   * caller mistook this process for another).
   */
  dropTables(request: DropTablesRequest, call: Call): Promise<DropTablesResponse>;
  /** Returns, for each region, the rows that are in no segment yet. */
  regionStates(request: RegionStatesRequest, call: Call): Promise<RegionStatesResponse>;
  /**
   * Refuses results that earlier owners of a flow have sent; those that were accepted before are visible at the response.
   * A new owner calls it before it reads anything: what a suspended process has sent arrives at any time, and the deadline
   * of a call counts from its arrival.
   */
  fenceFlow(request: FlowOwner, call: Call): Promise<FenceFlowResponse>;
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
   * For deletions: last sequence of the region that was read to decide on them. If one of their rows was written since,
   * the batch is refused with `illegal_state`. Zero: no check.
   */
  readonly asOf: bigint;
  /**
   * For results of a flow: who writes them. Refused with `illegal_state` if a later owner has called FenceFlow
   * of this process.
   */
  readonly flow?: FlowOwner | undefined;
}

export type FenceFlowResponse = Readonly<Record<string, never>>;

export interface WriteResponse {
  /**
   * Positions in the batch's list of series that the owner does not know: send again with their definitions. If this is
   * not empty, nothing was applied.
   */
  readonly unknownSeries: readonly number[];
  /** Identifies this run of the owner. The sender's knowledge of known series holds only for it. */
  readonly incarnation: bigint;
  /** New series that the table has no room for: send again without their rows. If it is set, nothing was applied. */
  readonly refused?: RefusedSeries | undefined;
}

export interface RefusedSeries {
  /** Positions in the batch's list of series. */
  readonly positions: readonly number[];
  /** Largest number of series of the table. */
  readonly seriesMax: number;
}

export interface ScanRequest {
  readonly tableId: number;
  /** The ingester must own all of them: otherwise the whole call fails, and the caller retries. */
  readonly regions: readonly ScanRegion[];
}

/** What the caller has of one region. */
export interface ScanRegion {
  readonly regionId: number;
  /** The grant that the caller knows; if another one is open here, the call fails with region_not_ready. Zero: any. */
  readonly epoch: number;
  /** Manifest version and watermark with which the caller reads segments. */
  readonly manifestVersion: bigint;
  readonly watermark: bigint;
  /** What the caller already has: rows (have_from, have_to] of `have_incarnation`, and series below `have_series`. */
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
  /** Batches of one generation become segments together: a watermark is never within a generation. */
  readonly generation: number;
}

/** Data of one region that the caller does not have, or a part of it. */
export interface ScanPart {
  readonly regionId: number;
  /** Set, and alone, if the caller's watermark is too old: read again with this manifest. */
  readonly newerManifest?: RegionManifest | undefined;
  readonly batches: readonly ScanBatch[];
  /** Definitions of series [series_from, series_to), in order of their numbers. */
  readonly seriesFrom: number;
  readonly seriesTo: number;
  readonly definitions: Uint8Array;
  /** Set on the region's last part: with it the caller has all rows up to `sequence_to`. */
  readonly complete: boolean;
  readonly sequenceTo: bigint;
}

/** At most some MiB, unless a single batch is longer. */
export interface ScanChunk {
  /** In the order of the regions in the request. If nothing is new, one chunk has a few bytes for each region. */
  readonly parts: readonly ScanPart[];
  readonly incarnation: bigint;
}

export interface FlushTableRequest {
  readonly tableId: number;
  /** Regions to flush. The ingester must own all of them: an address may now belong to another node. */
  readonly regionIds: readonly number[];
}

export interface FlushTableResponse {
  readonly segments: number;
}

export interface CompactTableRequest {
  readonly tableId: number;
  /** Regions to compact. The ingester must own all of them, as in FlushTableRequest. */
  readonly regionIds: readonly number[];
}

export interface CompactTableResponse {
  /** Number of replaced segments. */
  readonly segments: number;
}

export interface TruncateRequest {
  readonly tableId: number;
  /** Regions to truncate. The ingester must own all of them, as in FlushTableRequest. */
  readonly regionIds: readonly number[];
}

export type TruncateResponse = Readonly<Record<string, never>>;

export interface DropTablesRequest {
  readonly tableIds: readonly number[];
}

export type DropTablesResponse = Readonly<Record<string, never>>;

export interface RegionStatesRequest {
  /** At most 1,024, without duplicates. */
  readonly regionIds: readonly number[];
}

/** Rows of a region that are in no segment; a region that is not open here has none. */
export interface RegionState {
  readonly regionId: number;
  readonly rows: number;
  /** Memory of these rows. */
  readonly memtableBytes: number;
  /** Size of their records in the log. */
  readonly walBytes: number;
  /** Time since the first of them was written, or replayed from the log; absent if there are none. */
  readonly flushLagMs?: number | undefined;
}

export interface RegionStatesResponse {
  /** In the order of the request. */
  readonly regions: readonly RegionState[];
}
