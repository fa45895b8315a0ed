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
  /** Oldest first. None comes again. */
  readonly formerTypes: readonly FormerType[];
}

/** A type that a column had. */
export interface FormerType {
  readonly type: string;
  /** Rows that were stored under this version of the table's schema, and not under an earlier former type, have it. */
  readonly lastVersion: number;
}

/** A part of a table with one owner. Rows belong to it by the hash of their series. */
export interface RegionInfo {
  readonly regionId: number;
  /** Position in [0, number of regions of the table). */
  readonly index: number;
  /** The open grant; zero while nobody owns the region. */
  readonly epoch: number;
  readonly nodeId: number;
  /** The owner knows the ids of all batches that were applied in this epoch and later ones. */
  readonly idsSinceEpoch: number;
}

/** A table as it stands at one catalog version. */
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
  /** How long rows live (shared/schema/ttl.ts): the table's own option, or else its database's; empty: for ever. */
  readonly ttl: string;
}

export interface Database {
  readonly databaseId: number;
  readonly name: string;
  readonly options: Readonly<Record<string, string>>;
}

/** One immutable Parquet file of rows, live from the manifest version that added it. */
export interface Segment {
  /** Path below the segment store, unique for ever. */
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
  /** Time range of rows that were late at flush; absent means none. Merging versions is needed only there. */
  readonly hasLate: boolean;
  readonly lateFirst: bigint;
  readonly lateLast: bigint;
  /** CRC32C of the whole file. */
  readonly crc32c: number;
  /** Least and greatest metric number of the rows (docs/formats/segment.md); only where the file has that column. */
  readonly hasMetrics: boolean;
  readonly metricFirst: number;
  readonly metricLast: number;
  /** Whether rows may have operations (docs/formats/segment.md): only then the file has that column. */
  readonly hasOps: boolean;
}

/** One immutable Parquet file of series definitions. */
export interface SeriesFile {
  readonly path: string;
  readonly sidFirst: number;
  readonly sidLast: number;
  readonly bytes: number;
  readonly crc32c: number;
}

/** What is durable of one region at one manifest version. */
export interface RegionManifest {
  readonly regionId: number;
  readonly tableId: number;
  readonly epoch: number;
  /** All rows up to and including this sequence are in `segments`. */
  readonly watermark: bigint;
  /** Rows up to and including this sequence are gone by TRUNCATE. */
  readonly truncatedSequence: bigint;
  readonly version: bigint;
  readonly segments: readonly Segment[];
  readonly seriesFiles: readonly SeriesFile[];
}

export type Empty = Readonly<Record<string, never>>;
