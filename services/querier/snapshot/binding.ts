import type { Segment, Table } from '#shared/contracts/gen/common';
import type { Call } from '#shared/contracts/call';
import { AlmanacError } from '#shared/errors/almanac-error';
import type { AdmissionSlot } from '#shared/limits/bounded-queue';
import type { Band, TimeBounds } from '#shared/segments/bands';
import type { TextQuery } from '#shared/term-index/text-query';

import type { BoundRegion } from './bind.js';
import type { TagColumn } from './tag-column.js';

/** What a query reads of one table. Bounds and tag values are hints: the query still filters by itself. */
export interface BindRequest {
  readonly table: Table;
  /** Names of the columns that the query reads; undefined: all. */
  readonly columns: ReadonlySet<string> | undefined;
  /** Time index bounds `[from, to)`, in the column's unit, that the query implies; undefined: unbounded. */
  readonly timeFrom: bigint | undefined;
  readonly timeTo: bigint | undefined;
  /** Values of which one must match, by tag column, where the query implies that. */
  readonly tagValues: ReadonlyMap<string, readonly string[]>;
  /** Conditions on texts of fields that every row must satisfy. */
  readonly texts: readonly TextFilter[];
  /** Last sequence read before, by region ID; only later rows are read. Regions that are absent are read from the start. */
  readonly after?: ReadonlyMap<number, bigint> | undefined;
  /**
   * Whether every version of a row is read, and deletions too, to find out what has changed. Merged segments with rows on
   * both sides of `after` are left out, because metadata records their changes (services/metadata/rpc/segments.ts).
   */
  readonly everyVersion?: boolean;
}

/** A condition on the text of a column. */
export interface TextFilter {
  /** Name of the column. */
  readonly column: string;
  /** What a term index is searched for; undefined: it cannot help. */
  readonly query: TextQuery | undefined;
  /** Returns SQL of the condition on a text; undefined if the query has the condition itself. */
  readonly sql: ((text: string) => string) | undefined;
}

/** What a snapshot reads of a table, for EXPLAIN. */
export interface TableRead {
  /** Number of segments in the manifests. */
  readonly segmentCount: number;
  /** Number of segments skipped because they have no rows in the query's time range. */
  readonly outsideTime: number;
  /** Number of other segments skipped because they have none of the query's series or metrics. */
  readonly withoutSeries: number;
  /** Number of other segments skipped because their term index has none of the query's terms. */
  readonly withoutTerms: number;
  readonly segments: readonly SegmentRead[];
  /** Unflushed rows that may be in the query's time range. */
  readonly freshRows: number;
  /** Number of them in parts in which versions are merged. */
  readonly mergedFreshRows: number;
}

/** A segment that a snapshot reads. */
export interface SegmentRead {
  readonly segment: Segment;
  /** Whether the segment has rows in a late band, where versions are merged. */
  readonly isMerged: boolean;
  /** Number of rows that the term index selected; undefined: it was not used. */
  readonly selectedRows: number | undefined;
}

/** A region of a table as a snapshot reads it, for readers other than the engine. */
export interface RegionSource extends BoundRegion {
  /** Returns the values of a tag of all series; undefined if there are too many series to hold them. */
  tagColumn(tagId: number): Promise<TagColumn | undefined>;
}

/** What a snapshot reads for a request, for readers other than the engine. */
export interface TableSource {
  readonly table: Table;
  readonly bounds: TimeBounds;
  readonly regions: readonly RegionSource[];
  /** Time ranges in which rows have several versions. */
  readonly lateBands: readonly Band[];
}

/** One consistent view of the tables of a query: all rows acknowledged before the snapshot was taken, each row once. */
export interface Snapshot {
  /**
   * For each request, in order: a parenthesised SELECT for a FROM clause that returns the table's rows with the columns'
   * names and engine types (`DataType.duckdb`).
   */
  readonly relations: readonly string[];
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
   * Returns the tables as of their last read, without calling an owner; undefined unless that read found nothing new.
   * It may be outdated: only `take` can confirm it. The caller must release it.
   */
  guess(requests: readonly BindRequest[], call: Call): Promise<Snapshot | undefined>;
}

/** A field has values of an unknown type: the table was altered after the query was planned. The query is retried. */
export class NewerSchema extends AlmanacError {
  readonly tableId: number;

  constructor({ name, tableId }: Table) {
    super('region_not_ready', `table "${name}" was altered while it was read`, { retryAfterSeconds: 1 });
    this.tableId = tableId;
  }
}
