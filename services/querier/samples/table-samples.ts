import type { Clock } from '#shared/clock/clock';
import { Slices } from '#shared/clock/slices';
import { checkCall, type Call } from '#shared/contracts/call';
import type { Table } from '#shared/contracts/gen/common';
import type { AdmissionSlot } from '#shared/limits/bounded-queue';
import { fieldsOf, mergeModeOf } from '#shared/schema/table-schema';
import { expiryNs } from '#shared/schema/ttl';

import type { LabelMatcher } from '../series/matcher.js';
import { FIELD_LABEL, selectedFields } from '../series/field-matchers.js';
import { type Labels } from '../series/labels.js';
import { METRIC_NAME } from '#shared/schema/metric-table';
import { compileMatcher } from '../series/matcher.js';
import type { SampleSeries } from '../promql/runtime/samples.js';
import type { SegmentFiles } from '../snapshot/segment-files.js';
import type { TableState } from '../series/database-state.js';
import { selectSeries, groupsOfSeries, type SelectedSeries } from '../series/selected-series.js';
import type { LabelIndex } from '../series/label-index.js';
import type { LabelTest } from '../series/series-selection.js';
import { LabelShapes } from '../series/label-shapes.js';
import { isMetricTable, sampleFields, type SampleField } from './metric-table.js';
import { sliceBetween, mergeSlices, type SampleSlice } from './sample-slice.js';
import type { SampleView } from './sample-layout.js';
import type { SampleCount } from './sample-source.js';
import type { PresentFields } from './present-fields.js';
import { sampleSeries } from './sample-series.js';
import { flushedSamples } from './blocks/flushed-samples.js';
import { SelectorSeries, type RegionReader } from './blocks/selector-series.js';
import type { SeriesBlocks } from './blocks/series-blocks.js';
import type { SegmentSamples } from './segment-samples.js';
import { mayHaveRows, seriesInRange, type ClosedRange } from './series-in-range.js';
import { addAll } from '../series/sliced-collections.js';
import { segmentRequests, type TimeRange } from './segment-requests.js';

/** Cost of visiting a series, in units of reading one sample. */
const SERIES_WORK = 16;
/** Number of locations that are returned together. */
const LOCATIONS = 4096;
/** Cost of sorting an out-of-order sample, in the same units. */
const SORT_WORK = 8;

/** Collaborators of a `TableSamples`. */
export interface TableSamplesDeps {
  readonly files: SegmentFiles;
  readonly segments: SegmentSamples;
  readonly present: PresentFields;
  readonly blocks: SeriesBlocks;
  readonly clock: Clock;
  /** The query's admission slot. */
  readonly slot: AdmissionSlot;
  readonly count: SampleCount;
}

/** One table as of one moment, as PromQL sees it: series by labels, and their samples. */
export class TableSamples {
  readonly table: Table;
  readonly #views: readonly SampleView[];
  readonly #deps: TableSamplesDeps;
  readonly #fields: readonly SampleField[];
  /** Lowest time that is not expired, in milliseconds. */
  readonly #oldestMs: number;

  /** @param nowNs start of the query. */
  constructor(table: Table, views: readonly SampleView[], deps: TableSamplesDeps, nowNs: bigint) {
    const expiry = expiryNs(table, nowNs);
    this.#oldestMs = expiry === undefined ? -Infinity : Number(expiry) / 1e6;
    this.table = table;
    this.#views = views;
    this.#deps = deps;
    this.#fields = sampleFields(table);
  }

  /** State of the table, for comparison with a later query's state. */
  get state(): TableState {
    const regions = this.#views.map(({ series, sequenceTo, manifest }) => {
      return { arrivals: series?.arrivals, sequenceTo, losses: series?.losses.generationOf(manifest) };
    });
    return { schemaVersion: this.table.schemaVersion, regions, oldestMs: this.#oldestMs };
  }

  release(): void {
    for (const view of this.#views) view.release();
  }

  /** Returns the series that match all matchers and have samples in `(fromMs, toMs]`, with these samples. */
  async select(
    matchers: readonly LabelMatcher[],
    fromMs: number,
    toMs: number,
    call: Call,
  ): Promise<readonly SampleSeries[]> {
    const slices = this.#slices(call);
    const fields = await this.#fieldsOf(matchers, slices);
    const found: SampleSeries[] = [];
    if (fields.length === 0) return found;
    for (const view of this.#views) {
      const index = view.series;
      if (index === undefined) continue;
      const sids = await this.#matching(view, index, matchers, slices);
      if (sids.length === 0) continue;
      for await (const selected of groupsOfSeries(await selectSeries(index, sids, slices), slices)) {
        for (const field of fields) {
          const read = await this.#samplesOf({ view, field }, selected, { fromMs, toMs }, call);
          const labelsOf = this.#labelsOf(index, fields.length > 1 ? field.name : undefined);
          await eachInSlices(read, slices, (sid, run) => found.push(sampleSeries(labelsOf(sid), run)));
        }
      }
    }
    return found;
  }

  /** Returns the same, and possibly more series and samples, in an array that is kept for further queries. */
  async selectAround(
    matchers: readonly LabelMatcher[],
    fromMs: number,
    toMs: number,
    call: Call,
  ): Promise<readonly SampleSeries[]> {
    const reader: RegionReader = {
      table: this.table,
      views: this.#views,
      oldestMs: this.#oldestMs,
      fieldsOf: (given, slices) => this.#fieldsOf(given, slices),
      matching: (view, index, given, slices) => this.#matching(view, index, given, slices),
      eachFlushed: async ({ view, index, field }, sids, range, own, visit) => {
        const slices = this.#slices(own);
        for await (const selected of groupsOfSeries(await selectSeries(index, sids, slices), slices)) {
          const read = await this.#samplesOf({ view, field }, selected, range, own, NO_PARTS);
          await eachInSlices(read, slices, visit);
        }
      },
      flushed: async ({ view, index, field }, sids, requested, earlier, own) => {
        const slices = this.#slices(own);
        const selected = await selectSeries(index, sids, slices);
        const range = { ...requested, fromMs: Math.max(requested.fromMs, this.#oldestMs - EXPIRED_MS) };
        const query = { table: this.table, view, columns: field.columns, selected, range, earlier };
        return flushedSamples(query, this.#deps, own, slices);
      },
      labelsOf: (index, field) => this.#labelsOf(index, field),
      slices: (own) => this.#slices(own),
    };
    const series = await new SelectorSeries(reader, this.#deps.blocks).around(matchers, { fromMs, toMs }, call);
    return series ?? this.select(matchers, fromMs, toMs, call);
  }

  /** Yields the locations of all series that match, with or without samples. */
  async *locations(matchers: readonly LabelMatcher[], call: Call): AsyncIterable<readonly SeriesLocation[]> {
    const slices = this.#slices(call);
    const fields = await this.#fieldsOf(matchers, slices);
    if (fields.length === 0) return;
    for (const view of this.#views) {
      const index = view.series;
      if (index === undefined) continue;
      const sids = await this.#matching(view, index, matchers, slices);
      for (const field of fields) {
        const group = { view, field, samples: this };
        const labelsOf = this.#labelsOf(index, fields.length > 1 ? field.name : undefined);
        for (let from = 0; from < sids.length; from += LOCATIONS) {
          yield Array.from(sids.subarray(from, from + LOCATIONS), (sid) => ({ labels: labelsOf(sid), sid, group }));
          if (slices.isOver(LOCATIONS * SERIES_WORK)) await slices.yield();
        }
      }
    }
  }

  /** Calls `visit` with the labels of the matching series that may have a sample in the range. */
  async labels(
    matchers: readonly LabelMatcher[],
    range: ClosedRange,
    call: Call,
    visit: (labels: Labels) => void,
  ): Promise<void> {
    const slices = this.#slices(call);
    const fields = await this.#fieldsOf(matchers, slices);
    for (const view of this.#views) {
      const index = view.series;
      if (index === undefined) continue;
      const labelsByField = fields.map(({ name }) => this.#labelsOf(index, fields.length > 1 ? name : undefined));
      for (const sid of await this.#inRange(view, matchers, range, slices)) {
        for (const labelsOf of labelsByField) visit(labelsOf(sid));
        if (slices.isOver(SERIES_WORK)) await slices.yield();
      }
    }
  }

  /** Returns the label names of these series, without creating label sets: there may be millions. */
  async labelNames(matchers: readonly LabelMatcher[], range: ClosedRange, call: Call): Promise<ReadonlySet<string>> {
    const slices = this.#slices(call);
    const fields = await this.#fieldsOf(matchers, slices);
    const names = new Set<string>();
    if (fields.length === 0) return names;
    for (const view of this.#views) {
      const sids = await this.#inRange(view, matchers, range, slices);
      if (view.series === undefined || sids.length === 0) continue;
      for (const name of await view.series.namesOf(sids, slices)) names.add(name);
      if (!isMetricTable(this.table)) names.add(METRIC_NAME);
      if (fields.length > 1) names.add(FIELD_LABEL);
    }
    return names;
  }

  /** Returns the values of a label of these series, other than the field label. */
  async labelValues(
    name: string,
    matchers: readonly LabelMatcher[],
    range: ClosedRange,
    call: Call,
  ): Promise<ReadonlySet<string>> {
    const slices = this.#slices(call);
    const values = new Set<string>();
    if ((await this.#fieldsOf(matchers, slices)).length === 0) return values;
    const isTable = name === METRIC_NAME && !isMetricTable(this.table);
    for (const view of this.#views) {
      const sids = await this.#inRange(view, matchers, range, slices);
      if (view.series === undefined || sids.length === 0) continue;
      // In series that have a tag of this name, the tag hides the table name.
      const owners = isTable ? await view.series.valuesIn(name, sids, slices) : [];
      if (isTable && owners.length === 0) values.add(this.table.name);
      else if (isTable) await this.labels(matchers, range, call, (labels) => values.add(labels.get(name)));
      else await addAll(values, await view.series.valuesIn(name, sids, slices), slices);
    }
    return values;
  }

  /** Returns the names of the selected fields if a matching series may have a sample in the range. */
  async fieldNames(matchers: readonly LabelMatcher[], range: ClosedRange, call: Call): Promise<readonly string[]> {
    const slices = this.#slices(call);
    for (const view of this.#views) {
      const sids = await this.#inRange(view, matchers, range, slices);
      if (sids.length > 0) return (await this.#fieldsOf(matchers, slices)).map(({ name }) => name);
    }
    return [];
  }

  /** Yields each label value of the table with the number of series that have it. */
  *values(): Iterable<{ readonly name: string; readonly value: string; readonly count: number }> {
    for (const { series } of this.#views) {
      for (const name of series?.names ?? []) for (const it of series?.valuesOf(name) ?? []) yield { name, ...it };
    }
  }

  /** Yields the metric names of a metric table, possibly with duplicates. */
  *metrics(): Iterable<string> {
    for (const { series } of this.#views) for (const { value } of series?.valuesOf(METRIC_NAME) ?? []) yield value;
  }

  /** Returns the label names of the series with `name="value"`; undefined if there are no such series. */
  async labelNamesWith(name: string, value: string, call: Call): Promise<ReadonlySet<string> | undefined> {
    const slices = this.#slices(call);
    const all: string[] = [];
    let isAny = false;
    for (const { series } of this.#views) {
      const names = await series?.labelNamesWith(name, value, slices);
      if (names === undefined) continue;
      isAny = true;
      all.push(...names);
    }
    return isAny ? new Set(all) : undefined;
  }

  /** Returns the IDs of the columns in which a metric has values; the value column if it has no values. */
  async fieldsOf(metric: string): Promise<ReadonlySet<number>> {
    const matcher = { name: METRIC_NAME, op: '=', value: metric } as const;
    const slices = new Slices(this.#deps.clock);
    const found = new Set<number>();
    for (const { id } of fieldsOf(this.table)) {
      for (const view of this.#views) {
        if (view.series === undefined) continue;
        const sids = await this.#matching(view, view.series, [matcher], slices);
        const isFresh = view.parts.some(({ part, rowCount }) => part.has(metric, sids, rowCount, id));
        if (
          isFresh ||
          (await this.#deps.present.has(
            view.manifest.segments,
            await selectSeries(view.series, sids, slices),
            metric,
            id,
          ))
        ) {
          found.add(id);
          break;
        }
      }
    }
    if (found.size === 0) for (const { columns } of this.#fields) found.add(columns.value);
    return found;
  }

  get seriesCount(): number {
    return this.#views.reduce((sum, { seriesCount }) => sum + seriesCount, 0);
  }

  async #inRange(
    view: SampleView,
    matchers: readonly LabelMatcher[],
    range: ClosedRange,
    slices: Slices,
  ): Promise<Int32Array> {
    const query = { view, table: this.table, range: { ...range, fromMs: Math.max(range.fromMs, this.#oldestMs) } };
    if (view.series === undefined || !mayHaveRows(query)) return NOTHING;
    return seriesInRange(query, await this.#matching(view, view.series, matchers, slices), slices);
  }

  #fieldsOf(matchers: readonly LabelMatcher[], slices: Slices): Promise<readonly SampleField[]> {
    return selectedFields(this.#fields, matchers, slices);
  }

  async #matching(
    { seriesCount }: SampleView,
    index: LabelIndex,
    matchers: readonly LabelMatcher[],
    slices: Slices,
  ): Promise<Int32Array> {
    const isMetric = isMetricTable(this.table);
    const tests: LabelTest[] = [];
    for (const matcher of matchers) {
      if (matcher.name === FIELD_LABEL) continue;
      const passes = compileMatcher(matcher);
      if (matcher.name === METRIC_NAME && !isMetric) {
        if (!passes(this.table.name)) return NOTHING;
        continue;
      }
      tests.push({ name: matcher.name, equals: matcher.op === '=' ? matcher.value : undefined, passes });
    }
    return index.matching(tests, slices, seriesCount);
  }

  /** Returns the samples in the range by series, in the order of `sids`. Omits series without samples. @param sids ascending. */
  async read(
    source: Omit<SeriesGroup, 'samples'>,
    sids: Int32Array,
    requested: TimeRange,
    call: Call,
  ): Promise<ReadonlyMap<number, SampleSlice>> {
    return this.#samplesOf(source, await selectSeries(source.view.series, sids, this.#slices(call)), requested, call);
  }

  async #samplesOf(
    { view, field }: Omit<SeriesGroup, 'samples'>,
    selected: SelectedSeries,
    requested: TimeRange,
    call: Call,
    parts: SampleView['parts'] = view.parts,
  ): Promise<ReadonlyMap<number, SampleSlice>> {
    const { sids } = selected;
    const slices = this.#slices(call);
    const range = { ...requested, fromMs: Math.max(requested.fromMs, this.#oldestMs - EXPIRED_MS) };
    const bySeries = new Map<number, SampleSlice[]>();
    const add = (sid: number, run: SampleSlice | undefined): void => {
      if (run === undefined) return;
      const part = sliceBetween(run, range.fromMs, range.toMs);
      if (part.times.length === 0) return;
      const runs = bySeries.get(sid);
      if (runs === undefined) bySeries.set(sid, [part]);
      else runs.push(part);
    };
    const requests = await segmentRequests(view, this.table, { range, selected, slices });
    await this.#deps.files.check(requests.map(({ segment }) => segment));
    const runs = await this.#deps.segments.read(this.table, requests, field.columns, {
      call,
      slot: this.#deps.slot,
      count: this.#deps.count,
    });
    for (const [at, { sids: own }] of requests.entries()) {
      for (let i = 0; i < own.length; i++) {
        const run = runs[at][i];
        add(own[i], run);
        if (slices.isOver(workOf(run))) await slices.yield();
      }
    }
    for (const { part, rowCount } of parts) {
      for (const sid of sids) {
        const run = part.sliceOf(sid, rowCount, field.columns);
        add(sid, run);
        if (slices.isOver(workOf(run))) await slices.yield();
      }
    }
    const keepsMissing = mergeModeOf(this.table) === 'last_row';
    const found = new Map<number, SampleSlice>();
    for (const sid of sids) {
      const runs = bySeries.get(sid);
      if (runs === undefined) continue;
      const run = mergeSlices(runs, keepsMissing);
      if (run.times.length > 0) found.set(sid, run);
      if (slices.isOver(workOf(run))) await slices.yield();
    }
    return found;
  }

  /** Returns a scheduler for work on series that fails when the call ends. */
  #slices(call: Call): Slices {
    return new Slices(this.#deps.clock, { check: () => checkCall(call) });
  }

  /**
   * Returns a function from series numbers to labels. The index caches them, so a series has the same object in every query.
   * The cache key has the table and field names, because both can be renamed.
   */
  #labelsOf(index: LabelIndex, field: string | undefined): (sid: number) => Labels {
    const metric = isMetricTable(this.table) ? undefined : this.table.name;
    const shapes = new LabelShapes();
    return index.cached(JSON.stringify([metric, field]), (sid) =>
      shapes.labels((add) => {
        if (metric !== undefined) add(METRIC_NAME, metric);
        index.labelsOf(sid, add);
        if (field !== undefined) add(FIELD_LABEL, field);
      }),
    );
  }
}

const NOTHING = new Int32Array(0);
const NO_PARTS: SampleView['parts'] = [];

/** Subtracted from the expiry time, because ranges are open on the left and times are integers. */
const EXPIRED_MS = 0.5;

/** Series that are read together: those of one region and one field. */
export interface SeriesGroup {
  readonly view: SampleView;
  readonly field: SampleField;
  readonly samples: TableSamples;
}

/** Location of a series' samples. */
export interface SeriesLocation {
  readonly labels: Labels;
  readonly sid: number;
  readonly group: SeriesGroup;
}

async function eachInSlices(
  runs: ReadonlyMap<number, SampleSlice>,
  slices: Slices,
  visit: (sid: number, run: SampleSlice) => void,
): Promise<void> {
  for (const [sid, run] of runs) {
    visit(sid, run);
    if (slices.isOver(workOf(run))) await slices.yield();
  }
}

function workOf(run: SampleSlice | undefined): number {
  if (run === undefined) return SERIES_WORK;
  return SERIES_WORK + run.times.length * (run.isAscending ? 1 : SORT_WORK);
}
