import { Slices } from '#shared/clock/slices';
import type { Clock } from '#shared/clock/clock';

import { QueryColumns, type ColumnSources } from '../../columns/query-columns.js';
import { SharedProgress } from '../../columns/shared-progress.js';
import { GroupAggregation } from '../aggregation.js';
import { MergedBlocks } from '../late/merged-blocks.js';
import { KernelMemory } from '../memory.js';
import { addRows } from '../read-rows.js';
import { RowWalk } from '../row-walk.js';
import type { ReadShare, Scan, ScanResult } from '../scan.js';

/** The part of a scan that one thread does. */
export interface ScanJob {
  /** Identifies the scan among those of its thread. */
  readonly number: number;
  readonly scan: Scan;
  readonly share: ReadShare;
  /** Root of the segment store. */
  readonly storeFolder: string;
  /** The job has been cancelled when its first element is 1. */
  readonly cancelled: Int32Array<SharedArrayBuffer>;
  /** Memory of a `SharedProgress`. */
  readonly progress: BigInt64Array<SharedArrayBuffer>;
}

/** Does one thread's part of a scan. @param check is called between slices; an error that it throws ends the scan. */
export async function runScan(
  { scan, share, progress }: Pick<ScanJob, 'scan' | 'share' | 'progress'>,
  sources: ColumnSources,
  clock: Clock,
  check: () => void,
): Promise<ScanResult> {
  const { query, table, grid, cells, regions } = scan;
  // The query has memory for the cells of all threads, and few row groups are decoded at once.
  const memory = new KernelMemory(Infinity).open();
  const columns = new QueryColumns(sources, new SharedProgress(progress));
  const deps = { columns, clock, memory, blocks: new MergedBlocks(sources.cache) };
  const aggregation = new GroupAggregation(query, cells, memory);
  const slices = new Slices(clock, { check });
  for (const [i, { series, fields, segments, ranges }] of regions.entries()) {
    for (const bounds of ranges) {
      const walk = new RowWalk({ ...query, bounds }, grid, aggregation);
      walk.region = i;
      await addRows(bounds, walk, { source: { table }, segments, parts: [], series, fields, deps, slices, share });
    }
  }
  return { state: aggregation.state, counts: columns.counts };
}
