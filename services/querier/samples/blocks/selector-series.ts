import type { Slices } from '#shared/clock/slices';
import type { Call } from '#shared/contracts/call';
import type { Table } from '#shared/contracts/gen/common';
import { mergeModeOf } from '#shared/schema/table-schema';

import type { SampleSeries } from '../../promql/runtime/samples.js';
import type { LabelIndex } from '../../series/label-index.js';
import type { Labels } from '../../series/labels.js';
import { MS_PER } from '../../series/millis.js';
import type { LabelMatcher } from '../../series/matcher.js';
import type { SampleField } from '../metric-table.js';
import { isContinued, type EarlierSamples } from './flushed-samples.js';
import type { JoinedSamples } from './joined-samples.js';
import { LiveSeries } from './live-series.js';
import type { SampleView } from '../sample-layout.js';
import { sampleSeries } from '../sample-series.js';
import { floatSlice, type SampleSlice } from '../sample-slice.js';
import { WHOLE_MS, type TimeRange } from '../segment-requests.js';
import { timeUnitOfTable } from '../series-in-range.js';
import { blockRange, type BlockGroup, type RegionBasis, type SeriesBlock, type SeriesBlocks } from './series-blocks.js';
import { withSharedTimes } from './shared-times.js';

/** Reads the regions of one table as of one moment. */
export interface RegionReader {
  readonly table: Table;
  readonly views: readonly SampleView[];
  /** Lowest time that is not expired, in milliseconds. */
  readonly oldestMs: number;
  fieldsOf(matchers: readonly LabelMatcher[], slices: Slices): Promise<readonly SampleField[]>;
  /** Returns the series of a region that match, ascending. */
  matching(view: SampleView, index: LabelIndex, matchers: readonly LabelMatcher[], slices: Slices): Promise<Int32Array>;
  /** Calls `visit` with the flushed samples of series of a region. */
  eachFlushed(
    group: { readonly view: SampleView; readonly index: LabelIndex; readonly field: SampleField },
    sids: Int32Array,
    range: TimeRange,
    call: Call,
    visit: (sid: number, slice: SampleSlice) => void,
  ): Promise<void>;
  /** Reads the same without the engine. @returns undefined if `eachFlushed` must be used. */
  flushed(
    group: { readonly view: SampleView; readonly index: LabelIndex; readonly field: SampleField },
    sids: Int32Array,
    range: TimeRange,
    earlier: EarlierSamples | undefined,
    call: Call,
  ): Promise<JoinedSamples | undefined>;
  /** @param field undefined if the label set has no field label. */
  labelsOf(index: LabelIndex, field: string | undefined): (sid: number) => Labels;
  slices(call: Call): Slices;
}

/** The series of selectors, which are kept between queries. */
export class SelectorSeries {
  readonly #reader: RegionReader;
  readonly #blocks: SeriesBlocks;

  constructor(reader: RegionReader, blocks: SeriesBlocks) {
    this.#reader = reader;
    this.#blocks = blocks;
  }

  /**
   * Returns at least the series that match all matchers and have samples in the range, with at least these samples: the
   * same array for many queries. Undefined if the caller must read exactly the range.
   */
  async around(
    matchers: readonly LabelMatcher[],
    range: TimeRange,
    call: Call,
  ): Promise<readonly SampleSeries[] | undefined> {
    const { table, views, oldestMs } = this.#reader;
    const slices = this.#reader.slices(call);
    const key = `${table.tableId} ${table.schemaVersion} ${table.name} ${JSON.stringify(matchers)}`;
    const before = this.#blocks.find(key);
    const bases = await this.#bases(matchers, before, slices);
    let block = before;
    if (bases !== block?.bases || !isWithin(range, block.range)) {
      const wider = this.#withSegments(bases, blockRange(range, before?.range));
      // Such a block would be built for each query.
      const seriesCount = bases.reduce((sum, { sids }) => sum + sids.length, 0);
      if (!this.#blocks.fits(key, this.#samplesOf(bases, wider), seriesCount)) return undefined;
      block = await this.#block(matchers, bases, { range: wider, before }, call);
      this.#blocks.keep(key, block);
      const indexes = new Set(bases.map(({ index }) => index));
      if (before?.bases.every(({ index }) => indexes.has(index)) === false) {
        this.#blocks.removeTable(table.tableId, indexes);
      }
    }
    // Expired samples must not be visible, and histograms are compared with the previous one of the query's range.
    if (!block.isPlain || block.range.fromMs < oldestMs) return undefined;
    const isFresh = views.some(({ parts }) => parts.some((one) => mayHaveRows(one, range)));
    if (!isFresh) return block.series;
    const keepsMissing = mergeModeOf(table) === 'last_row';
    const live = await LiveSeries.of(block, { views, keepsMissing, slices });
    if (live !== block.live) this.#blocks.keep(key, { ...block, live });
    return live?.series;
  }

  /** Returns what the series of a selector depend on; that of `before` if nothing changed. */
  async #bases(
    matchers: readonly LabelMatcher[],
    before: SeriesBlock | undefined,
    slices: Slices,
  ): Promise<readonly RegionBasis[]> {
    const bases: RegionBasis[] = [];
    const { views } = this.#reader;
    for (const [at, view] of views.entries()) {
      const { series: index, seriesCount, manifest } = view;
      if (index === undefined) continue;
      const known = before?.bases.at(bases.length);
      const isKnown = known?.index === index && known.seriesCount === seriesCount;
      const sids = isKnown ? known.sids : await this.#reader.matching(view, index, matchers, slices);
      bases.push({ at, index, manifest, sids, seriesCount });
    }
    return before !== undefined && areSame(before.bases, bases) ? before.bases : bases;
  }

  /** Extends a range to the segments in it, if they are loaded as a whole, as far as there are no other segments. */
  #withSegments(bases: readonly RegionBasis[], { fromMs, toMs }: TimeRange): TimeRange {
    const factor = MS_PER[timeUnitOfTable(this.#reader.table)];
    let [least, greatest, before, after] = [Infinity, -Infinity, -Infinity, Infinity];
    for (const { manifest } of bases) {
      for (const { timeFirst, timeLast } of manifest.segments) {
        // A millisecond more, because the conversion to doubles may round.
        const [first, last] = [Math.floor(Number(timeFirst) * factor) - 1, Math.ceil(Number(timeLast) * factor) + 1];
        if (last < fromMs) before = Math.max(before, last);
        else if (first > toMs) after = Math.min(after, first);
        else if (last - first > WHOLE_MS + 2) return { fromMs, toMs };
        else [least, greatest] = [Math.min(least, first), Math.max(greatest, last)];
      }
    }
    return {
      fromMs: Math.min(fromMs, Math.max(before, least)),
      toMs: Math.max(toMs, Math.min(after, greatest)),
    };
  }

  /** Estimates the number of samples of a block: as if all series of a segment had as many. */
  #samplesOf(bases: readonly RegionBasis[], range: TimeRange): number {
    const factor = MS_PER[timeUnitOfTable(this.#reader.table)];
    let samples = 0;
    for (const { manifest, seriesCount, sids } of bases) {
      for (const { timeFirst, timeLast, rowCount } of manifest.segments) {
        const fromMs = Number(timeFirst) * factor;
        const toMs = Number(timeLast) * factor;
        const commonMs = Math.min(toMs, range.toMs) - Math.max(fromMs, range.fromMs);
        if (commonMs < 0) continue;
        samples += rowCount * (sids.length / seriesCount) * Math.min(1, (commonMs + 1) / (toMs - fromMs + 1));
      }
    }
    return samples;
  }

  /** Returns the samples of a block that are valid in a later one. */
  #earlier(
    { bases, groups, isPlain, range, series }: SeriesBlock,
    basis: RegionBasis,
    { at, sids, columns }: BlockGroup,
    wider: TimeRange,
  ): EarlierSamples | undefined {
    const known = bases.find((one) => one.at === at && one.index === basis.index);
    const group = groups.find((one) => one.at === at && one.columns.value === columns.value);
    if (!isPlain || known === undefined || group === undefined) return undefined;
    if (!isWithin(range, wider) || !areEqual(group.sids, sids)) return undefined;
    const own = Array.from(group.positions, ([sid, position]) => [sid, series[position]] as const);
    let lastMs = -Infinity;
    for (const [, { times }] of own) lastMs = Math.max(lastMs, times[times.length - 1]);
    const earlier = { range, manifest: known.manifest, lastMs, series: own };
    return isContinued(earlier, this.#reader.table, basis.manifest) ? earlier : undefined;
  }

  /** Reads the flushed samples of all series. */
  async #block(
    matchers: readonly LabelMatcher[],
    bases: readonly RegionBasis[],
    { range, before }: { readonly range: TimeRange; readonly before: SeriesBlock | undefined },
    call: Call,
  ): Promise<SeriesBlock> {
    const slices = this.#reader.slices(call);
    const fields = await this.#reader.fieldsOf(matchers, slices);
    const found: SampleSeries[] = [];
    const groups: BlockGroup[] = [];
    let isPlain = true;
    for (const basis of bases) {
      const { at, index, sids } = basis;
      const view = this.#reader.views[at];
      if (sids.length === 0) continue;
      for (const field of fields) {
        const labelsOf = this.#reader.labelsOf(index, fields.length > 1 ? field.name : undefined);
        const positions = new Map<number, number>();
        const group = { at, sids, columns: field.columns, labelsOf, positions };
        const add = (sid: number, slice: SampleSlice): void => {
          positions.set(sid, found.length);
          found.push(sampleSeries(labelsOf(sid), slice));
        };
        const earlier = before && this.#earlier(before, basis, group, range);
        const joined = await this.#reader.flushed({ view, index, field }, sids, range, earlier, call);
        if (joined === undefined) {
          await this.#reader.eachFlushed({ view, index, field }, sids, range, call, (sid, slice) => {
            isPlain &&= slice.histograms === undefined && slice.starts === undefined;
            // Only the fact is kept of histograms, which are large.
            if (isPlain) add(sid, slice);
          });
        } else {
          await joined.each(slices, (sid, { times, values }) => add(sid, floatSlice(times, values)));
        }
        groups.push(group);
      }
    }
    if (!isPlain) return { bases, range, series: [], groups: [], isPlain, live: undefined };
    return { bases, range, series: await withSharedTimes(found, slices), groups, isPlain, live: undefined };
  }
}

/** Reports whether a part has rows in the range, by its bounds. */
function mayHaveRows({ part, rowCount }: SampleView['parts'][number], { fromMs, toMs }: TimeRange): boolean {
  return rowCount > 0 && part.leastMs <= toMs && part.greatestMs > fromMs;
}

function isWithin(inner: TimeRange, outer: TimeRange): boolean {
  return inner.fromMs >= outer.fromMs && inner.toMs <= outer.toMs;
}

function areSame(some: readonly RegionBasis[], others: readonly RegionBasis[]): boolean {
  return (
    some.length === others.length &&
    some.every((one, i) => {
      const other = others[i];
      const isSameRegion = one.at === other.at && one.index === other.index;
      return isSameRegion && one.manifest.version === other.manifest.version && areEqual(one.sids, other.sids);
    })
  );
}

function areEqual(some: Int32Array, others: Int32Array): boolean {
  return some === others || (some.length === others.length && some.every((sid, i) => sid === others[i]));
}
