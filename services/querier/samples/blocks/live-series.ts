import type { Slices } from '#shared/clock/slices';

import type { SampleSeries } from '../../promql/runtime/samples.js';
import type { SampleView } from '../sample-layout.js';
import { sampleSeries } from '../sample-series.js';
import { floatSlice, mergeSlices } from '../sample-slice.js';
import type { BlockGroup, LiveBlock, SeriesBlock } from './series-blocks.js';
import { SharedTimes } from './shared-times.js';

/** Unflushed rows, and how they are merged. */
export interface LiveOptions {
  readonly views: readonly SampleView[];
  /** Whether a row without a value hides earlier rows of its time. */
  readonly keepsMissing: boolean;
  readonly slices: Slices;
}

/** The series of one group of a block with their unflushed rows. */
interface LiveGroup {
  /** Identities of the parts, which keep no rows in memory. */
  readonly parts: readonly object[];
  /** Newest row of each series by part, which identifies the rows that were merged; -1 for none. */
  readonly newest: readonly Int32Array[];
  /** By position of the series; undefined for series without samples. */
  readonly merged: readonly (SampleSeries | undefined)[];
}

/** Costs of comparing a series with its last rows, and of merging one, in units of reading one number. */
const COMPARE_WORK = 4;
const MERGE_WORK = 64;

/** A block's series with the unflushed rows of some queries. Only series with new rows are merged again. */
export class LiveSeries implements LiveBlock {
  readonly series: readonly SampleSeries[];
  readonly bytes: number;
  readonly #groups: readonly LiveGroup[];

  private constructor(series: readonly SampleSeries[], groups: readonly LiveGroup[], bytes: number) {
    this.series = series;
    this.#groups = groups;
    this.bytes = bytes;
  }

  /** Returns the series as of the views: those of the block if nothing changed; undefined if some are not plain floats. */
  static async of(block: SeriesBlock, options: LiveOptions): Promise<LiveSeries | undefined> {
    const before = block.live instanceof LiveSeries ? block.live : undefined;
    const shared = new SharedTimes();
    const groups: LiveGroup[] = [];
    let isSame = before !== undefined;
    for (const [i, group] of block.groups.entries()) {
      const known = before === undefined ? undefined : before.#groups[i];
      const next = await merged(block, group, known, shared, options);
      if (next === undefined) return undefined;
      isSame &&= next === known;
      groups.push(next);
    }
    if (before !== undefined && isSame) return before;
    const series: SampleSeries[] = [];
    let bytes = 0;
    const times = new Set<Float64Array>();
    for (const one of groups.flatMap((group) => group.merged)) {
      if (one === undefined) continue;
      series.push(one);
      bytes += one.values.byteLength;
      times.add(one.times);
      if (options.slices.isOver(COMPARE_WORK)) await options.slices.yield();
    }
    for (const { byteLength } of times) bytes += byteLength;
    return new LiveSeries(series, groups, bytes);
  }
}

/** Merges the series of a group that have new rows. @returns `known` if none has; undefined if one is not of plain floats. */
async function merged(
  block: SeriesBlock,
  { at, sids, columns, labelsOf, positions }: BlockGroup,
  known: LiveGroup | undefined,
  shared: SharedTimes,
  { views, keepsMissing, slices }: LiveOptions,
): Promise<LiveGroup | undefined> {
  const parts = views[at].parts.filter(({ rowCount }) => rowCount > 0);
  const isKnown =
    known?.parts.length === parts.length && parts.every(({ part }, i) => known.parts[i] === part.identity);
  const newest = parts.map((_, i) => known?.newest[isKnown ? i : -1]?.slice() ?? new Int32Array(sids.length).fill(-1));
  const results = isKnown ? [...known.merged] : Array.from(sids, (sid) => flushedOf(block, positions.get(sid)));
  let isChanged = !isKnown;
  for (let i = 0; i < sids.length; i++) {
    const sid = sids[i];
    let hasNew = false;
    for (const [p, { part, rowCount }] of parts.entries()) {
      const row = part.newestRow(sid, rowCount);
      hasNew ||= row !== newest[p][i];
      newest[p][i] = row;
    }
    if (slices.isOver(COMPARE_WORK)) await slices.yield();
    if (!hasNew) continue;
    isChanged = true;
    const flushed = flushedOf(block, positions.get(sid));
    const rows = parts.flatMap(({ part, rowCount }) => part.sliceOf(sid, rowCount, columns) ?? []);
    const slice = mergeSlices(
      flushed === undefined ? rows : [floatSlice(flushed.times, flushed.values), ...rows],
      keepsMissing,
    );
    const one = sampleSeries(labelsOf(sid), slice);
    if (one.histograms !== undefined || one.startTimes !== undefined) return undefined;
    results[i] = one.times.length === 0 ? undefined : { ...one, times: shared.of(one.times) };
    if (slices.isOver(MERGE_WORK + one.times.length)) await slices.yield();
  }
  return isChanged ? { parts: parts.map(({ part }) => part.identity), newest, merged: results } : known;
}

function flushedOf({ series }: SeriesBlock, position: number | undefined): SampleSeries | undefined {
  return position === undefined ? undefined : series[position];
}
