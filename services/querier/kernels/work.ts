import { clipped, overlaps, type Band, type TimeBounds } from '#shared/segments/bands';

import type { RegionSource, TableSource } from '../snapshot/snapshots.js';
import type { KernelDeps } from './deps.js';
import { rangesOf } from './late/time-ranges.js';
import { hasDeletions } from './preconditions.js';
import { NotNowForKernels, type KernelQuery } from './query.js';
import type { RegionSeries } from './series-groups.js';

/**
 * Default number of values from which a query takes longer than 0.2 s here, and other threads read them. Those decode them
 * each time: 43 million values of 4.3 million rows took 470 ms, and 230 ms here, where they are kept.
 */
const VALUES_MAX = 1 << 26;
/**
 * Values of rows in late bands that are left to the engine from this number on: where there are unflushed rows, whose blocks
 * are merged again and again, and elsewhere.
 */
const LATE_VALUES_MAX = { changing: 1 << 25, flushed: 1 << 29 };
/** The same for a process that is busy, in which each slice of the work waits for other work. */
const BUSY_VALUES_MAX = 1 << 21;
/**
 * Number of values from which threads of low priority read them for a busy process: beside such queries in the engine, whose
 * threads compete with other work, writes kept a fifth of their rate instead of three fifths.
 */
const BUSY_SCAN_VALUES = 1 << 23;
/**
 * Values of which the newest rows of all series are read here. It happens once, since these rows are few and kept: 380 million
 * values took 4 s, and 2 ms from then on, where the engine takes 3.6 s each time.
 */
const LAST_VALUES_MAX = 1 << 30;
/** Memory of the last rows of a row group, for each field. */
const BYTES_PER_LAST_FIELD = 450;
/** A process is busy if other work takes this long. */
const BUSY_MS = 3;
/** Rows of a row group. At least one is read of each segment, however few series are selected. */
const GROUP_ROWS = 20_480;
/** As many rows take as long as to find the runs of series in the groups of unflushed rows, and to walk over the rows after these. */
const FRESH_ROWS = 20_480;

/**
 * Reports whether other threads should read the rows: here, they would delay other work.
 *
 * @throws `NotNowForKernels` if the engine should read them, because the process is busy.
 */
export async function isMuch(
  query: KernelQuery,
  source: TableSource,
  series: readonly RegionSeries[],
  { clock, threads }: Pick<KernelDeps, 'clock' | 'threads'>,
): Promise<boolean> {
  const values = valuesOf(query, source, series);
  if (values > (threads?.valuesMin ?? VALUES_MAX)) return true;
  if (values <= BUSY_VALUES_MAX) return false;
  const beganMs = clock.monotonicMs();
  await clock.yield();
  if (clock.monotonicMs() - beganMs <= BUSY_MS) return false;
  if (query.kind === 'groups' && values >= BUSY_SCAN_VALUES && threads?.isIdle === true) return true;
  throw new NotNowForKernels('the process is busy');
}

/** Reports whether the newest rows of each series are found in too many rows: the engine should read them. */
export function isMuchLast(
  query: KernelQuery,
  source: TableSource,
  series: readonly RegionSeries[],
  lastBytes: number,
): boolean {
  if (query.fieldConditions.length > 0 || source.regions.some(hasDeletions)) return true;
  const values = valuesOf(query, source, series);
  // Those that do not fit are read again each time.
  const fits = (values / GROUP_ROWS) * BYTES_PER_LAST_FIELD <= lastBytes;
  return values > (fits ? LAST_VALUES_MAX : VALUES_MAX);
}

/** Reports whether rows in late bands, which are merged here, are too many: the engine should read them. */
export function isMuchLate(query: KernelQuery, source: TableSource, series: readonly RegionSeries[]): boolean {
  let rows = 0;
  let freshRows = 0;
  for (const [i, region] of source.regions.entries()) {
    if (region.named?.sids.length === 0) continue;
    for (const { bounds, isLate } of rangesOf(query.bounds, region.lateBands)) {
      if (!isLate) continue;
      const share = seriesShare(region, series[i]);
      for (const { segment } of region.segments) {
        rows += segment.rowCount * share * partOf({ first: segment.timeFirst, last: segment.timeLast }, bounds);
      }
      for (const { part, rowCount } of region.view.parts) {
        if (part.times !== undefined) freshRows += rowCount * share * partOf(part.times, bounds);
      }
    }
  }
  const valuesMax = freshRows > 0 ? LATE_VALUES_MAX.changing : LATE_VALUES_MAX.flushed;
  return (rows + freshRows) * (query.fields.length + 1) > valuesMax;
}

/** Returns the part of a region's series that a query may select. */
export function seriesShare({ view }: RegionSource, { sids }: RegionSeries): number {
  return sids === undefined ? 1 : sids.length / Math.max(1, view.seriesCount);
}

/** Estimates the number of values that a query reads. */
function valuesOf(query: KernelQuery, source: TableSource, series: readonly RegionSeries[]): number {
  let rows = 0;
  const { regions } = source;
  for (let i = 0; i < regions.length; i++) {
    if (regions[i].named?.sids.length !== 0) rows += workOf(query.bounds, regions[i], series[i]);
  }
  return rows * (query.fields.length + 1);
}

/** Estimates the number of rows that are read of a region. */
function workOf(bounds: TimeBounds, region: RegionSource, series: RegionSeries): number {
  const { segments, view } = region;
  const share = seriesShare(region, series);
  let rows = 0;
  for (const { segment } of segments) {
    const { timeFirst: first, timeLast: last, rowCount } = segment;
    if (!overlaps({ first, last }, bounds)) continue;
    rows += Math.min(rowCount, rowCount * share + GROUP_ROWS);
  }
  for (const { part, rowCount } of view.parts) {
    if (part.times === undefined || !overlaps(part.times, bounds)) continue;
    rows += Math.min(rowCount, rowCount * share * partOf(part.times, bounds) + FRESH_ROWS);
  }
  return rows;
}

/** Returns the part of a time range that is within bounds. */
function partOf(band: Band, bounds: TimeBounds): number {
  const common = clipped(band, bounds);
  return common === undefined ? 0 : Number(common.last - common.first + 1n) / Number(band.last - band.first + 1n);
}
