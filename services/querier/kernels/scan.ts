import type { Column, Table } from '#shared/contracts/gen/common';
import type { OutputColumn } from '#shared/formats/format';
import type { TimeBounds } from '#shared/segments/bands';

import type { ColumnCounts } from '../columns/query-columns.js';
import type { SharedProgress } from '../columns/shared-progress.js';
import type { BoundSegment } from '../snapshot/sources.js';
import type { AggregationState } from './aggregation.js';
import type { AggregateQuery, RowQuery } from './query.js';
import type { RowsText } from './result/result-text.js';
import type { RegionSeries } from './series-groups.js';
import type { TimeGrid } from './time-grid.js';

/** A segment, and the name by which caches know it. */
export type ScannedSegment = Pick<BoundSegment, 'segment' | 'name'>;

/** One of `of` parts of the work. */
export interface ReadShare {
  readonly index: number;
  readonly of: number;
}

/** Segments of a region that other threads read for a query. */
export interface ScannedRegion {
  readonly series: RegionSeries;
  readonly fields: readonly Column[];
  readonly segments: readonly ScannedSegment[];
  /** Parts of the time range in which each row has one version. */
  readonly ranges: readonly TimeBounds[];
}

/** What other threads aggregate for a query. */
export interface Scan {
  readonly query: AggregateQuery;
  readonly table: Table;
  readonly grid: TimeGrid;
  readonly cells: number;
  readonly regions: readonly ScannedRegion[];
}

/** What a thread aggregated. */
export interface ScanResult {
  readonly state: AggregationState;
  readonly counts: ColumnCounts;
}

/** Why the engine must run a query, and whether the next run may have another reason. */
export interface Refusal {
  readonly refusal: string;
  readonly isForNow: boolean;
}

/** Values of a tag by series; -1: the series does not have the tag. */
export interface ScannedTag {
  readonly numbers: Int32Array<SharedArrayBuffer>;
  readonly values: readonly string[];
}

/** Rows that other threads select for a query, and whose text they write. */
export interface TextScan {
  readonly query: RowQuery;
  readonly table: Table;
  readonly regions: readonly ScannedRegion[];
  /** Tags of the result by column ID, for each region. */
  readonly tags: ReadonlyMap<number, readonly ScannedTag[]>;
  /** One of `THREAD_FORMATS`. */
  readonly format: string;
  readonly columns: readonly OutputColumn[];
  /** Rows of the largest row group. */
  readonly groupRows: number;
  /** Memory of each thread for columns and rows, in bytes. */
  readonly threadBytes: number;
}

/** Why the engine runs a query while there is no place in the threads. */
export const NO_PLACE = 'other queries use the threads';

/** Threads that run scans. */
export interface Scans {
  /** Number of threads. */
  readonly count: number;
  /** Queries that read fewer values do not use them, unless the process is busy. */
  readonly valuesMin: number;
  /** Whether no scan runs or waits. */
  readonly isIdle: boolean;
  /**
   * Runs a scan in all threads.
   *
   * @param progress receives what the threads have read so far
   * @param check is called from time to time; an error that it throws ends the scan.
   * @returns what each thread aggregated
   * @throws `NotForKernels` if the engine must run the query.
   */
  run(scan: Scan, progress: SharedProgress, check: () => void): Promise<ScanResult[]>;
  /** Whether another text scan can begin. */
  readonly hasPlace: boolean;
  /**
   * Selects rows in some threads, which wait while their texts are not taken. Rows are in the same order each time.
   *
   * @param progress, check as above
   * @param counted receives what a thread has read
   * @throws `NotForKernels` as above, also after some texts
   */
  texts(
    scan: TextScan,
    threadCount: number,
    progress: SharedProgress,
    check: () => void,
    counted: (counts: ColumnCounts) => void,
  ): AsyncGenerator<RowsText>;
}
