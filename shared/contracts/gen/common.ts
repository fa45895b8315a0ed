// Generated from proto/almanac/v1/common.proto by `npm run generate`. Do not edit.

/** One column of a table. Ids are unique within the table and never reused. */
export interface Column {
  readonly id: number;
  readonly name: string;
  /** Native type name, for example `Int64` or `TimestampNanosecond` (shared/schema/data-type.ts). */
  readonly type: string;
  /** `tag`, `field` or `time`. */
  readonly kind: string;
  readonly nullable: boolean;
  /** SQL text of the default, evaluated per statement; empty means none. */
  readonly defaultSql: string;
  readonly comment: string;
  /** SQL text of the value of rows that were written before the column was added, of its first type; empty means null. */
  readonly backfillSql: string;
  /** Oldest first. A former type never becomes one again. */
  readonly formerTypes: readonly FormerType[];
  readonly indexes: readonly ColumnIndex[];
}

/** An index that a column was given. */
export interface ColumnIndex {
  /** `FULLTEXT`, `SKIPPING` or `INVERTED`. */
  readonly kind: string;
  readonly options: Readonly<Record<string, string>>;
}

/** A former type of a column. */
export interface FormerType {
  readonly type: string;
  /** Rows stored under this schema version of the table, and not under an earlier former type, have it. */
  readonly lastVersion: number;
}

/** A part of a table with one owner. Rows are assigned to regions by the hash of their series. */
export interface RegionInfo {
  readonly regionId: number;
  /** Position in [0, number of regions of the table). */
  readonly index: number;
  /** The open grant; zero if the region has no owner. */
  readonly epoch: number;
  readonly nodeId: number;
  /** The owner knows the ids of all batches that were applied in this epoch and later ones. */
  readonly idsSinceEpoch: number;
}

/** A table at one catalog version. */
export interface Table {
  readonly tableId: number;
  readonly databaseId: number;
  readonly database: string;
  readonly name: string;
  /** Grows with every change of columns or options. */
  readonly schemaVersion: number;
  readonly columns: readonly Column[];
  readonly options: Readonly<Record<string, string>>;
  readonly regions: readonly RegionInfo[];
  readonly createdMs: number;
  /** Names of the primary key's columns in their declared order. */
  readonly primaryKey: readonly string[];
  /** Retention of rows (shared/schema/ttl.ts): the table's own option, or else its database's; empty: unlimited. */
  readonly ttl: string;
}

export interface Database {
  readonly databaseId: number;
  readonly name: string;
  readonly options: Readonly<Record<string, string>>;
}

/** One immutable Parquet file of rows, live from the manifest version that added it. */
export interface Segment {
  /** Path in the segment store, never reused. */
  readonly path: string;
  readonly schemaVersion: number;
  /** First and last time index value, in the column's unit. */
  readonly timeFirst: bigint;
  readonly timeLast: bigint;
  readonly rowCount: number;
  readonly bytes: number;
  readonly sidFirst: number;
  readonly sidLast: number;
  /** Sequences of the rows: (sequence_from, sequence_to]. */
  readonly sequenceFrom: bigint;
  readonly sequenceTo: bigint;
  /** Time range of rows that were late at flush; absent: none. Versions need to be merged only there. */
  readonly hasLate: boolean;
  readonly lateFirst: bigint;
  readonly lateLast: bigint;
  /** CRC32C of the whole file. */
  readonly crc32c: number;
  /** Least and greatest metric number of the rows (docs/formats/segment.md); absent if the file has no such column. */
  readonly hasMetrics: boolean;
  readonly metricFirst: number;
  readonly metricLast: number;
  /** Whether rows may have operations (docs/formats/segment.md); otherwise the file has no such column. */
  readonly hasOps: boolean;
  /** Whether the segment replaced others, so that it may lack deletions and earlier versions that they had. */
  readonly isMerged?: boolean | undefined;
  /** Whether the file has scaled columns (docs/formats/segment.md), in which most values of some fields are stored. */
  readonly hasScaled?: boolean | undefined;
}

/** One immutable Parquet file of series definitions. */
export interface SeriesFile {
  readonly path: string;
  readonly sidFirst: number;
  readonly sidLast: number;
  readonly bytes: number;
  readonly crc32c: number;
}

/** Durable state of one region at one manifest version. */
export interface RegionManifest {
  readonly regionId: number;
  readonly tableId: number;
  readonly epoch: number;
  /** All rows up to and including this sequence are in `segments`. */
  readonly watermark: bigint;
  /** Rows up to and including this sequence were removed by TRUNCATE. */
  readonly truncatedSequence: bigint;
  readonly version: bigint;
  readonly segments: readonly Segment[];
  readonly seriesFiles: readonly SeriesFile[];
}

export type Empty = Readonly<Record<string, never>>;

/** The ownership of a flow by one querier. */
export interface FlowOwner {
  readonly flowId: number;
  /** Grows with each owner of the flow. */
  readonly epoch: number;
}
