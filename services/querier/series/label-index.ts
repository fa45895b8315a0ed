import type { Slices } from '#shared/clock/slices';
import type { SeriesFile, Table } from '#shared/contracts/gen/common';
import type { ScanPart } from '#shared/contracts/gen/ingester';
import { dataType } from '#shared/schema/data-type';
import { NO_METRIC } from '#shared/schema/metric-table';
import { timeIndexOf } from '#shared/schema/table-schema';

import { ArrivalLog } from './arrival-log.js';
import type { Labels } from './labels.js';
import type { LabelsCache } from './labels-cache.js';
import { MS_PER } from './millis.js';
import { SegmentLosses } from './segment-losses.js';
import type { SeriesIndex } from './series-index.js';
import { SeriesSelection, type LabelTest } from './series-selection.js';
import type { IndexReader, SharedIndex } from './shared-indexes.js';

/** Cost of reading the labels of one series, in units of reading one number. */
const LABELS_WORK = 8;
/** Names that the cache of label names has at most; they take 40 bytes each. */
const CACHED_NAMES_MAX = 1 << 18;

/** The series of one region as PromQL reads them: finds series by label values and returns the labels of a series. */
export class LabelIndex {
  pins = 0;
  isObsolete = false;
  /** Arrivals since the index was created. Discarding rows also discards the index. */
  readonly arrivals = new ArrivalLog();
  /** Changes of the region's segment list since the index was created. */
  readonly losses = new SegmentLosses();
  readonly #shared: SharedIndex;
  readonly #labelsMemory: LabelsCache;
  /** Series below this number were requested: others may have added more. */
  #end = 0;
  /** Cache of `labelNamesWith`, by label and value: the label names of the first `seen` series that have the value. */
  readonly #namesByValue = new Map<string, { readonly names: Set<string>; seen: number }>();

  /** Number of names in it, at least, and of its entries. */
  #cachedNames = 0;

  constructor(shared: SharedIndex, labelsMemory: LabelsCache) {
    this.#shared = shared;
    this.#labelsMemory = labelsMemory;
  }

  /** Number of series. */
  get count(): number {
    return Math.min(this.#index.count, this.#end);
  }

  /** Reports whether the index is right for the schema. */
  fits(table: Table): boolean {
    return this.#shared.fits(table);
  }

  /** Uses the index that other readers of the same series have. @param owner identifies who numbered the series */
  share(owner: string): void {
    this.#shared.share(owner);
  }

  /** Sets who discards it when other indexes need the memory. */
  readBy(reader: IndexReader): void {
    this.#shared.readBy(reader);
  }

  /** Ends its use. */
  close(): void {
    this.#shared.close();
  }

  /** Adds the series of the files from `count` on. The files start at or below `count` and must have been checked. */
  async load(files: readonly SeriesFile[]): Promise<void> {
    if (files.length === 0) return;
    for (const { sidLast } of files) this.#end = Math.max(this.#end, sidLast + 1);
    await this.#shared.load(files);
  }

  /** Adds the definitions of series that are in no file yet. */
  async append(part: ScanPart): Promise<void> {
    this.#noteArrivals(part);
    if (part.seriesTo <= this.count) return;
    this.#end = Math.max(this.#end, part.seriesTo);
    await this.#shared.append(part);
  }

  #noteArrivals({ batches }: ScanPart): void {
    const factor = MS_PER[dataType(timeIndexOf(this.#shared.index.table).type).timeUnit ?? 'ns'];
    for (const { sequenceFrom, sequenceTo, timeFirst } of batches) {
      // One less, because the conversion to a double may round up.
      this.arrivals.add(sequenceFrom, sequenceTo, Math.floor(Number(timeFirst) * factor) - 1);
    }
  }

  /** Returns the series below `count` that pass all tests, ascending. */
  matching(tests: readonly LabelTest[], slices: Slices, count = this.count): Promise<Int32Array> {
    return new SeriesSelection(this.#index, slices, count).matching(tests);
  }

  /** Returns the metric number of each series; undefined if the table is not a metric table. */
  async metricsOf(sids: Int32Array, slices: Slices): Promise<Uint32Array | undefined> {
    const index = this.#index;
    if (index.metricTagId === undefined) return undefined;
    const metrics = new Uint32Array(sids.length).fill(NO_METRIC);
    const label = index.labelOfTag(index.metricTagId);
    if (label === undefined) return metrics;
    for (let i = 0; i < sids.length; i++) {
      const number = index.valueOf(sids[i], label.position);
      if (number >= 0) metrics[i] = label.firstOf(number);
      if (slices.isOver(LABELS_WORK)) await slices.yield();
    }
    return metrics;
  }

  /** Returns the number of series that have one of the metric numbers. */
  countOf(metrics: ReadonlySet<number>): number {
    const index = this.#index;
    const label = index.metricTagId === undefined ? undefined : index.labelOfTag(index.metricTagId);
    if (label === undefined) return 0;
    let count = 0;
    for (const metric of metrics) {
      // The number of a metric is its first series.
      const number = metric < index.count ? index.valueOf(metric, label.position) : -1;
      if (number >= 0) count += label.countOf(number);
    }
    return count;
  }

  /** Returns a function that makes the labels of a series with `make` and caches them under `key`. */
  cached(key: string, make: (sid: number) => Labels): (sid: number) => Labels {
    return this.#labelsMemory.cached(this, key, make);
  }

  /** Calls `visit` for each non-empty label of a series. */
  labelsOf(sid: number, visit: (name: string, value: string) => void): void {
    this.#index.visit(sid, ({ name, values }, number) => {
      if (values[number] !== '') visit(name, values[number]);
    });
  }

  /** Label names that occur in at least one series. */
  get names(): string[] {
    return this.#index.labels.map(({ name }) => name);
  }

  /** Returns the label names with a non-empty value in at least one of the series. */
  async namesOf(sids: Int32Array, slices: Slices): Promise<string[]> {
    const { labels, count } = this.#index;
    if (sids.length === count) {
      return labels
        .filter((label) => label.values.some((it, number) => it !== '' && label.countOf(number) > 0))
        .map(({ name }) => name);
    }
    const seen = new Set<string>();
    for (const sid of sids) {
      this.labelsOf(sid, (name) => seen.add(name));
      if (slices.isOver(LABELS_WORK)) await slices.yield();
    }
    return labels.flatMap(({ name }) => (seen.has(name) ? [name] : []));
  }

  /** Returns the non-empty values of a label in the given series. */
  async valuesIn(name: string, sids: Int32Array, slices: Slices): Promise<string[]> {
    const label = this.#index.label(name);
    if (label === undefined) return [];
    if (sids.length === this.#index.count) {
      return label.values.filter((value, number) => value !== '' && label.countOf(number) > 0);
    }
    const seen = new Uint8Array(label.values.length);
    for (const sid of sids) {
      const number = this.#index.valueOf(sid, label.position);
      if (number >= 0) seen[number] = 1;
      if (slices.isOver(LABELS_WORK)) await slices.yield();
    }
    return label.values.filter((value, number) => seen[number] === 1 && value !== '');
  }

  /** Yields the values of a label with the number of series that have each. */
  *valuesOf(name: string): Iterable<{ readonly value: string; readonly count: number }> {
    const label = this.#index.label(name);
    if (label === undefined) return;
    for (const [number, value] of label.values.entries()) {
      const count = label.countOf(number);
      if (count > 0) yield { value, count };
    }
  }

  /** Returns the label names of all series with `name="value"`; undefined if there are no such series. */
  async labelNamesWith(name: string, value: string, slices: Slices): Promise<ReadonlySet<string> | undefined> {
    const label = this.#index.label(name);
    const number = label?.numberOf(value);
    if (label === undefined || number === undefined || label.countOf(number) === 0) return undefined;
    const { postings } = await this.#index.indexed(label, this.count, slices);
    const series = postings.of(number, this.count);
    const key = `${name}\0${value}`;
    if (this.#cachedNames > CACHED_NAMES_MAX) this.#clearNames();
    const cached = this.#namesByValue.get(key) ?? { names: new Set<string>(), seen: 0 };
    this.#namesByValue.set(key, cached);
    const before = cached.names.size;
    // Series are only appended. A concurrent query may continue here during a yield.
    while (cached.seen < series.length) {
      this.labelsOf(series[cached.seen++], (found) => cached.names.add(found));
      if (slices.isOver(LABELS_WORK)) await slices.yield();
    }
    this.#cachedNames += cached.names.size - before + 1;
    return cached.names;
  }

  #clearNames(): void {
    this.#namesByValue.clear();
    this.#cachedNames = 0;
  }

  get #index(): SeriesIndex {
    return this.#shared.index;
  }
}
