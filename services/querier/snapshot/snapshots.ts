import type { Call } from '#shared/contracts/call';
import type { Table } from '#shared/contracts/gen/common';
import type { AdmissionSlot } from '#shared/limits/bounded-queue';
import type { Band, TimeBounds } from '#shared/segments/bands';

import type { BoundRegion } from './bind.js';
import type { BindRequest, TableRead } from './binding.js';
import type { TagColumn } from '../series/tag-column.js';

/** A region of a table as a snapshot reads it, for readers other than the engine. */
export interface RegionSource extends BoundRegion {
  /** Time ranges of the query in which a row may have several versions, ascending. */
  readonly lateBands: readonly Band[];
  /** Series that have the tag values of the request, ascending; undefined: any series. */
  readonly selected: Int32Array | undefined;
  /** Whether the series with the tag values are not known, for lack of memory: `selected` is undefined then. */
  readonly isUnselected: boolean;
  /** Returns the values of a tag of all series; undefined if the table has no series. @throws `IndexesFull` */
  tagColumn(tagId: number): Promise<TagColumn | undefined>;
}

/** What a snapshot reads for a request, for readers other than the engine. */
export interface TableSource {
  readonly table: Table;
  readonly bounds: TimeBounds;
  /** Values of tags, by column ID, of which the selected series of all regions have one. */
  readonly tagValues: ReadonlyMap<number, readonly string[]>;
  readonly regions: readonly RegionSource[];
}

/** One consistent view of the tables of a query: all rows acknowledged before the snapshot was taken, each row once. */
export interface Snapshot {
  /**
   * Returns for each request, in order: a parenthesised SELECT for a FROM clause that returns the table's rows with the
   * columns' names and engine types (`DataType.duckdb`). The engine gets the unflushed rows that it does not have.
   */
  relations(): Promise<readonly string[]>;
  /** The relations without rows. The engine plans a query over them at once: a scan of a large segment takes it 4 ms. */
  readonly emptyRelations: readonly string[];
  /** What is read for each request, for readers other than the engine. */
  readonly sources: readonly TableSource[];
  /** What is read for each request, for EXPLAIN. */
  readonly reads: readonly TableRead[];
  /** Last sequence that all views of the region cover, by region ID. */
  readonly sequences: ReadonlyMap<number, bigint>;
  /** Whether it has rows that are not after the sequences of the requests, because a segment has both. */
  readonly mayRepeat: boolean;
  /**
   * Finds out why a query failed: if a file may be the cause, verifies the checksums of the snapshot's files again.
   *
   * @param signal stops the verification
   * @returns `storage_unavailable` naming a damaged or missing file, otherwise `thrown`
   */
  reasonOf(thrown: unknown, signal: AbortSignal): Promise<unknown>;
  /** Releases the files and fresh rows. Must be called when the query ends. */
  release(): void;
}

/** Optional arguments of `Snapshots.take`. */
export interface SnapshotOptions {
  /** Result of `guess` for the same requests: returned if it is still current, otherwise ignored. */
  readonly guess?: Snapshot | undefined;
  /** The query's admission slot, released while waiting for owners. Undefined: the query is not counted. */
  readonly slot?: AdmissionSlot;
}

/** Takes snapshots of tables for queries. */
export interface Snapshots {
  /** @throws `region_not_ready` when the rows of a region are not available; a snapshot is never incomplete. */
  take(requests: readonly BindRequest[], call: Call, options?: SnapshotOptions): Promise<Snapshot>;
  /**
   * Returns what `take` would return, if nothing has to be waited for; undefined otherwise. The caller must release it.
   *
   * @throws as `take` does
   */
  takeNow(requests: readonly BindRequest[], call: Call): Snapshot | undefined;
  /**
   * Returns the versions of the regions of tables (`RegionView.version`), if nothing has to be waited for; undefined otherwise.
   * A snapshot that is taken before the caller yields has the same.
   */
  versionsNow(tables: readonly Table[]): readonly number[] | undefined;
  /**
   * Returns the tables as of their last read, without calling an owner; undefined unless that read found nothing new.
   * It may be outdated: only `take` can confirm it. The caller must release it.
   */
  guess(requests: readonly BindRequest[], call: Call): Promise<Snapshot | undefined>;
  /**
   * Returns how many rows have the segments and unflushed parts of a table that overlap a time range, without reading a file. A
   * segment counts as 4,000 rows at least, because opening its file takes as long as reading those.
   */
  overlappingRows(table: Table, bounds: TimeBounds, options: { call: Call; slot: AdmissionSlot }): Promise<number>;
}
