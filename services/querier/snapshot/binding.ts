import type { Segment, Table } from '#shared/contracts/gen/common';
import { AlmanacError } from '#shared/errors/almanac-error';
import type { TextQuery } from '#shared/term-index/text-query';

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

/** A field has values of an unknown type: the table was altered after the query was planned. The query is retried. */
export class NewerSchema extends AlmanacError {
  readonly tableId: number;

  constructor({ name, tableId }: Table) {
    super('region_not_ready', `table "${name}" was altered while it was read`, { retryAfterSeconds: 1 });
    this.tableId = tableId;
  }
}
