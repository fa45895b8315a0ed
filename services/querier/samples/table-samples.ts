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
import { selectSeries, inGroups, type SelectedSeries } from '../series/selected-series.js';
import type { LabelIndex, LabelTest } from '../series/label-index.js';
import { LabelShapes } from '../series/label-shapes.js';
import { isMetricTable, sampleFields, type SampleField } from './metric-table.js';
import { sliceBetween, mergeSlices, type SampleSlice } from './sample-slice.js';
import type { SampleView } from './sample-layout.js';
import type { PresentFields } from './present-fields.js';
import { sampleSeries } from './sample-series.js';
import type { SegmentSamples } from './segment-samples.js';
import { mayHaveRows, seriesInRange, type ClosedRange } from './series-in-range.js';
import { addAll } from '../series/sliced-set.js';
import { segmentRequests, type TimeRange } from './segment-requests.js';

/** What it takes to look at a series, as so many samples. */
const SERIES_WORK = 16;
/** Places that are told at once. */
const PLACES = 4096;
/** The same for samples that are not in order. */
const SORT_WORK = 8;

export interface TableSamplesDeps {
  readonly files: SegmentFiles;
  readonly segments: SegmentSamples;
  readonly present: PresentFields;
  readonly clock: Clock;
  /** Of the query. */
  readonly slot: AdmissionSlot;
}

/** One table as PromQL sees it, as of one moment: its series by their labels, and their samples. */
export class TableSamples {
  readonly table: Table;
  readonly #views: readonly SampleView[];
  readonly #deps: TableSamplesDeps;
  readonly #fields: readonly SampleField[];
  /** The least time that is not expired. */
  readonly #oldestMs: number;

  /** @param nowNs when the query began. */
  constructor(table: Table, views: readonly SampleView[], deps: TableSamplesDeps, nowNs: bigint) {
    const expiry = expiryNs(table, nowNs);
    this.#oldestMs = expiry === undefined ? -Infinity : Number(expiry) / 1e6;
    this.table = table;
    this.#views = views;
    this.#deps = deps;
    this.#fields = sampleFields(table);
  }

  /** What it sees, to be compared with what a later query sees. */
  get state(): TableState {
    const regions = this.#views.map(({ series, sequenceTo, manifest }) => {
      return { arrivals: series?.arrivals, sequenceTo, losses: series?.losses.upTo(manifest) };
    });
    return { schemaVersion: this.table.schemaVersion, regions, oldestMs: this.#oldestMs };
  }

  release(): void {
    for (const view of this.#views) view.release();
  }

  /** Series that fit all matchers, with their samples in `(fromMs, toMs]`; those without samples there are left out. */
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
      for await (const chosen of inGroups(await selectSeries(index, sids, slices), slices)) {
        for (const field of fields) {
          const read = await this.#piecesOf({ view, field }, chosen, { fromMs, toMs }, call);
          const labelsOf = this.#labelsOf(index, fields.length > 1 ? field.name : undefined);
          await eachInSlices(read, slices, (sid, piece) => found.push(sampleSeries(labelsOf(sid), piece)));
        }
      }
    }
    return found;
  }

  /** The series that fit all matchers, whether they have samples or not. */
  async *places(matchers: readonly LabelMatcher[], call: Call): AsyncIterable<readonly SeriesPlace[]> {
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
        for (let from = 0; from < sids.length; from += PLACES) {
          yield Array.from(sids.subarray(from, from + PLACES), (sid) => ({ labels: labelsOf(sid), sid, group }));
          if (slices.isOver(PLACES * SERIES_WORK)) await slices.yield();
        }
      }
    }
  }

  /** Calls back with the labels of the series that fit all matchers, and may have a sample in the range. */
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
      const forms = fields.map(({ name }) => this.#labelsOf(index, fields.length > 1 ? name : undefined));
      for (const sid of await this.#inRange(view, matchers, range, slices)) {
        for (const labelsOf of forms) visit(labelsOf(sid));
        if (slices.isOver(SERIES_WORK)) await slices.yield();
      }
    }
  }

  /** Names of the labels of the same series. Label sets are not made: there may be millions. */
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

  /** Values of one of these labels, but for that of the field. */
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
      // A tag of that name hides the name of the table where a series has it.
      const owners = isTable ? await view.series.valuesIn(name, sids, slices) : [];
      if (isTable && owners.length === 0) values.add(this.table.name);
      else if (isTable) await this.labels(matchers, range, call, (labels) => values.add(labels.get(name)));
      else await addAll(values, await view.series.valuesIn(name, sids, slices), slices);
    }
    return values;
  }

  /** Names of the fields that are meant, if a series fits all matchers and may have a sample in the range. */
  async fieldNames(matchers: readonly LabelMatcher[], range: ClosedRange, call: Call): Promise<readonly string[]> {
    const slices = this.#slices(call);
    for (const view of this.#views) {
      const sids = await this.#inRange(view, matchers, range, slices);
      if (sids.length > 0) return (await this.#fieldsOf(matchers, slices)).map(({ name }) => name);
    }
    return [];
  }

  /** Each label of the table with its values and how many series have them. */
  *values(): Iterable<{ readonly name: string; readonly value: string; readonly count: number }> {
    for (const { series } of this.#views) {
      for (const name of series?.names ?? []) for (const it of series?.valuesOf(name) ?? []) yield { name, ...it };
    }
  }

  /** Names of the metrics of a metric table; one may come more than once. */
  *metrics(): Iterable<string> {
    for (const { series } of this.#views) for (const { value } of series?.valuesOf(METRIC_NAME) ?? []) yield value;
  }

  /** Labels of the series that have a value of a label; undefined if there are none. */
  async labelsUnder(name: string, value: string, call: Call): Promise<ReadonlySet<string> | undefined> {
    const slices = this.#slices(call);
    const all: string[] = [];
    let isAny = false;
    for (const { series } of this.#views) {
      const names = await series?.labelsUnder(name, value, slices);
      if (names === undefined) continue;
      isAny = true;
      all.push(...names);
    }
    return isAny ? new Set(all) : undefined;
  }

  /** Ids of the columns of which a metric has values; that of the value if it has none at all. */
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
    const question = { view, table: this.table, range: { ...range, fromMs: Math.max(range.fromMs, this.#oldestMs) } };
    if (view.series === undefined || !mayHaveRows(question)) return NOTHING;
    return seriesInRange(question, await this.#matching(view, view.series, matchers, slices), slices);
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

  /** Samples in the range by series, in their order; those without any are left out. @param sids ascending. */
  async pieces(
    source: Omit<SeriesGroup, 'samples'>,
    sids: Int32Array,
    asked: TimeRange,
    call: Call,
  ): Promise<ReadonlyMap<number, SampleSlice>> {
    return this.#piecesOf(source, await selectSeries(source.view.series, sids, this.#slices(call)), asked, call);
  }

  async #piecesOf(
    { view, field }: Omit<SeriesGroup, 'samples'>,
    chosen: SelectedSeries,
    asked: TimeRange,
    call: Call,
  ): Promise<ReadonlyMap<number, SampleSlice>> {
    const { sids } = chosen;
    const slices = this.#slices(call);
    const range = { ...asked, fromMs: Math.max(asked.fromMs, this.#oldestMs - EXPIRED_MS) };
    const bySeries = new Map<number, SampleSlice[]>();
    const add = (sid: number, piece: SampleSlice | undefined): void => {
      if (piece === undefined) return;
      const part = sliceBetween(piece, range.fromMs, range.toMs);
      if (part.times.length === 0) return;
      const pieces = bySeries.get(sid);
      if (pieces === undefined) bySeries.set(sid, [part]);
      else pieces.push(part);
    };
    const wanted = await segmentRequests(view, this.table, { range, chosen, slices });
    await this.#deps.files.check(wanted.map(({ segment }) => segment));
    const pieces = await this.#deps.segments.read(this.table, wanted, field.columns, {
      call,
      slot: this.#deps.slot,
    });
    for (const [at, { sids: own }] of wanted.entries()) {
      for (let i = 0; i < own.length; i++) {
        const piece = pieces[at][i];
        add(own[i], piece);
        if (slices.isOver(workOf(piece))) await slices.yield();
      }
    }
    for (const { part, rowCount } of view.parts) {
      for (const sid of sids) {
        const piece = part.sliceOf(sid, rowCount, field.columns);
        add(sid, piece);
        if (slices.isOver(workOf(piece))) await slices.yield();
      }
    }
    const keepsMissing = mergeModeOf(this.table) === 'last_row';
    const found = new Map<number, SampleSlice>();
    for (const sid of sids) {
      const pieces = bySeries.get(sid);
      if (pieces === undefined) continue;
      const piece = mergeSlices(pieces, keepsMissing);
      if (piece.times.length > 0) found.set(sid, piece);
      if (slices.isOver(workOf(piece))) await slices.yield();
    }
    return found;
  }

  /** Work on series, which ends with its call. */
  #slices(call: Call): Slices {
    return new Slices(this.#deps.clock, { check: () => checkCall(call) });
  }

  /**
   * The labels of a series by its number. They are kept at the index, so that the same series has the same object in every
   * query, under the names that they were made of: tables and fields are renamed.
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
/** Ranges are open on the left, and times are whole. */
const EXPIRED_MS = 0.5;

/** Series that are read together: those of one region and one field of a table. */
export interface SeriesGroup {
  readonly view: SampleView;
  readonly field: SampleField;
  readonly samples: TableSamples;
}

/** Where the samples of a series are. */
export interface SeriesPlace {
  readonly labels: Labels;
  readonly sid: number;
  readonly group: SeriesGroup;
}

async function eachInSlices(
  pieces: ReadonlyMap<number, SampleSlice>,
  slices: Slices,
  visit: (sid: number, piece: SampleSlice) => void,
): Promise<void> {
  for (const [sid, piece] of pieces) {
    visit(sid, piece);
    if (slices.isOver(workOf(piece))) await slices.yield();
  }
}

function workOf(piece: SampleSlice | undefined): number {
  if (piece === undefined) return SERIES_WORK;
  return SERIES_WORK + piece.times.length * (piece.isAscending ? 1 : SORT_WORK);
}
