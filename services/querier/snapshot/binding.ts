import type { Segment, Table } from '#shared/contracts/gen/common';
import type { Call } from '#shared/contracts/call';
import type { AdmissionSlot } from '#shared/limits/bounded-queue';

/** What a query needs of one table. Everything that narrows it is a hint: the query still filters by itself. */
export interface BindRequest {
  readonly table: Table;
  /** Names of the columns that the query reads; undefined means all. */
  readonly columns: ReadonlySet<string> | undefined;
  /** Time index bounds `[from, to)` in the column's unit that the query is known to imply; undefined: unbounded. */
  readonly timeFrom: bigint | undefined;
  readonly timeTo: bigint | undefined;
  /** Tag column -> values of which one must match, where the query implies that. */
  readonly tagValues: ReadonlyMap<string, readonly string[]>;
}

/** What a query is given of a table. */
export interface TableRead {
  /** Those that the manifest has. */
  readonly segmentCount: number;
  /** How many of them are left out because they have no rows of the query's time. */
  readonly outsideTime: number;
  /** How many others are left out because they have none of its series or metrics. */
  readonly withoutSeries: number;
  readonly segments: readonly SegmentRead[];
  /** Rows that are in no segment yet, as far as they may be of the query's time. */
  readonly freshRows: number;
  /** How many of them are in parts of which versions are merged. */
  readonly mergedFreshRows: number;
}

export interface SegmentRead {
  readonly segment: Segment;
  /** Whether it has rows in a time in which versions are merged; all of it is read plainly otherwise. */
  readonly isMerged: boolean;
}

/** One consistent view of the tables of a query: all that was acknowledged before it was taken, each row once. */
export interface Snapshot {
  /**
   * For each request, in order: a parenthesised SELECT that gives the table's rows with the columns' own names and
   * engine types (`DataType.duckdb`), to stand in a FROM clause.
   */
  readonly relations: readonly string[];
  /** For EXPLAIN: what is read for each request. */
  readonly reads: readonly TableRead[];
  /** By region: the last row that is in every reading of it. */
  readonly sequences: ReadonlyMap<number, bigint>;
  /**
   * Why the query failed: if that may be a file, its files are compared with their checksums once more.
   *
   * @param signal ends that.
   * @returns `storage_unavailable` naming a file that is damaged or missing, or what was thrown.
   */
  reasonOf(thrown: unknown, signal: AbortSignal): Promise<unknown>;
  /** Lets go of files and fresh rows; must be called when the query has ended. */
  release(): void;
}

export interface SnapshotOptions {
  /** What `guess` gave for the same requests: it is the answer if it proves right, else it is let alone. */
  readonly guess?: Snapshot | undefined;
  /** Of the query: it is waited aside for others, while the work on what they answer keeps it. None: nobody counts it. */
  readonly slot?: AdmissionSlot;
}

export interface Snapshots {
  /** @throws `region_not_ready` if the rows of a region cannot be had; a snapshot is never short. */
  take(requests: readonly BindRequest[], call: Call, options?: SnapshotOptions): Promise<Snapshot>;
  /**
   * The tables as they were last read, without asking anybody; undefined unless nothing was new then. It may have become
   * short: only `take` tells whether it is still right. It must be released.
   */
  guess(requests: readonly BindRequest[]): Promise<Snapshot | undefined>;
}
