import type { Column, Table } from '#shared/contracts/gen/common';
import type { TimeBounds } from '#shared/segments/bands';

import type { ColumnCounts } from '../columns/query-columns.js';
import type { SharedProgress } from '../columns/shared-progress.js';
import type { BoundSegment } from '../snapshot/sources.js';
import type { AggregationState } from './aggregation.js';
import type { AggregateQuery } from './query.js';
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
}
