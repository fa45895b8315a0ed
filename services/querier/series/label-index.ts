import type { Clock } from '#shared/clock/clock';
import { Slices } from '#shared/clock/slices';
import type { Column, SeriesFile, Table } from '#shared/contracts/gen/common';
import type { ScanPart } from '#shared/contracts/gen/ingester';
import type { DuckDBConnection, DuckDBDataChunk, DuckDBVector } from '#shared/duckdb/engine';
import { textAt } from '#shared/duckdb/text-bytes';
import { invariant } from '#shared/errors/invariant';
import { decodeDefinitions, decodeTags } from '#shared/rowbatch/definitions';
import { dataType } from '#shared/schema/data-type';
import { impliedTags } from '#shared/schema/implied-tags';
import { metricTagOf, NO_METRIC } from '#shared/schema/metric-table';
import { timeIndexOf } from '#shared/schema/table-schema';

import type { Labels } from './labels.js';
import { PLAIN_WORK, type ValueTest } from './matcher.js';
import type { SeriesRows } from '../snapshot/rows-layout.js';
import type { SegmentFiles } from '../snapshot/segment-files.js';
import { ArrivalLog } from './arrival-log.js';
import { IntegerBlocks } from './blocks.js';
import { Integers } from './growing.js';
import { KnownTags } from './known-tags.js';
import { LabelValues } from './label-values.js';
import type { LabelsCache } from './labels-cache.js';
import { MS_PER } from './millis.js';
import { SegmentLosses } from './segment-losses.js';
import { sidsBelow, sortSids, NO_SERIES } from './series-sets.js';
import { isReadByTag, pagesOf, SeriesPages, type SeriesPage } from './series-pages.js';

/** Collaborators of a `LabelIndex`. */
export interface LabelIndexDeps {
  readonly connection: DuckDBConnection;
  readonly files: Pick<SegmentFiles, 'absolute'>;
  readonly clock: Clock;
  readonly labelsMemory: LabelsCache;
  /** Returns the current schema of the table. */
  readonly latestSchema: (tableId: number) => Promise<Table>;
}

/** Costs of indexing one label of a series, and of starting a column, in units of reading one number. */
const LABEL_WORK = 32;
const COLUMN_WORK = 256 * LABEL_WORK;
/** Cost of reading the labels of one series, in the same units. */
const LABELS_WORK = 8;

/** Condition on one label of a series; an absent label counts as an empty value. */
export interface LabelTest {
  readonly name: string;
  /** The only value that passes, if there is exactly one. */
  readonly equals: string | undefined;
  readonly passes: ValueTest;
}

/** In-memory index of the series of one region: finds series by label values and returns the labels of a series. */
export class LabelIndex implements SeriesRows {
  count = 0;
  pins = 0;
  isObsolete = false;
  /** Arrivals since the index was created. Discarding rows also discards the index. */
  readonly arrivals = new ArrivalLog();
  /** Changes of the region's segment list since the index was created. */
  readonly losses = new SegmentLosses();
  readonly #deps: LabelIndexDeps;
  readonly #labels = new Map<string, LabelValues>();
  readonly #byTagId = new Map<number, LabelValues>();
  readonly #tags: KnownTags;
  readonly #metricTagId: number | undefined;
  /** Values of tags that series without them have, by column ID. */
  #implied: ReadonlyMap<number, string>;
  readonly #nameOf: (column: string) => string;
  /** Pairs (position in `#order`, value number) of all series, in the order of the series. */
  readonly #pairs = new IntegerBlocks();
  /** Offset of each series' pairs in `#pairs`. */
  readonly #starts = new IntegerBlocks();
  readonly #order: LabelValues[] = [];
  /** Cache of `labelNamesWith`, by label and value: the label names of the first `seen` series that have the value. */
  readonly #namesByValue = new Map<string, { readonly names: Set<string>; seen: number }>();

  /** @param nameOf returns the label name of a tag column. */
  constructor(table: Table, nameOf: (column: string) => string, deps: LabelIndexDeps) {
    this.#tags = new KnownTags(table, deps.latestSchema);
    this.#metricTagId = metricTagOf(table)?.id;
    this.#implied = impliedTags(table);
    this.#nameOf = nameOf;
    this.#deps = deps;
  }

  /**
   * The index adds new tags when they occur, and tags are never renamed. But a tag that series have without it must be known
   * before the first one is added.
   */
  fits(table: Table): boolean {
    const implied = impliedTags(table);
    if (this.count > 0 && [...implied.keys()].some((id) => !this.#implied.has(id))) return false;
    this.#tags.adopt(table);
    this.#implied = impliedTags(this.#tags.table);
    return true;
  }

  async load(files: readonly SeriesFile[]): Promise<void> {
    if (files.length === 0) return;
    const { connection, files: store } = this.#deps;
    const pages = new SeriesPages({ connection, absolute: (path) => store.absolute(path) });
    await this.#tags.learn(await pages.tagIds(files));
    const tags = this.#tags.all;
    const labels = tags.map((tag) => this.#labelOf(tag));
    for (const page of pagesOf(files, this.count, tags.length)) {
      invariant(page.from === this.count, `series file ${page.file.path} starts after series ${this.count}`);
      if (isReadByTag(page, tags)) await this.#addByTag(pages, page, tags, labels);
      else for await (const chunk of pages.rows(page, tags)) await this.#addRows(chunk, labels);
    }
    const expected = Math.max(...files.map((file) => file.sidLast)) + 1;
    invariant(this.count === expected, `series files contain ${expected} series, ${this.count} were read`);
  }

  async #addByTag(
    pages: SeriesPages,
    page: SeriesPage,
    tags: readonly Column[],
    labels: readonly LabelValues[],
  ): Promise<void> {
    const length = page.to - page.from;
    const numbers = await pages.byTag(page, tags, labels);
    const slices = new Slices(this.#deps.clock);
    for (let at = 0; at < length; at++) {
      this.#start();
      for (let i = 0; i < labels.length; i++) {
        const number = numbers[i][at];
        if (number > 0) this.#addPair(labels[i], number - 1);
      }
      this.#end();
      if (slices.isOver(labels.length)) await slices.yield();
    }
  }

  /** Yields between series, because a series can have thousands of labels. */
  async #addRows(chunk: DuckDBDataChunk, labels: readonly LabelValues[]): Promise<void> {
    const slices = new Slices(this.#deps.clock);
    const columns: DuckDBVector[] = [];
    for (const i of labels.keys()) {
      columns.push(chunk.getColumnVector(i + 1));
      if (slices.isOver(COLUMN_WORK)) await slices.yield();
    }
    for (let row = 0; row < chunk.rowCount; row++) {
      this.#start();
      for (const [i, label] of labels.entries()) {
        const value = textAt(columns[i], row);
        if (value !== undefined) this.#addText(label, value);
      }
      this.#end();
      if (slices.isOver(labels.length * LABEL_WORK)) await slices.yield();
    }
  }

  async append(part: ScanPart): Promise<void> {
    this.#noteArrivals(part);
    if (part.seriesTo <= this.count) return;
    invariant(part.seriesFrom <= this.count, 'the scan skips series');
    // A byte order mark is a part of its value.
    const decoder = new TextDecoder('utf-8', { ignoreBOM: true });
    const slices = new Slices(this.#deps.clock);
    for (const definition of decodeDefinitions(part.definitions).slice(this.count - part.seriesFrom)) {
      const tags = decodeTags(definition.tags);
      if (!tags.every(({ columnId }) => this.#tags.has(columnId))) {
        await this.#tags.learn(tags.map(({ columnId }) => columnId));
      }
      this.#start();
      for (const { columnId, value } of tags) {
        this.#addText(this.#labelOf(this.#tags.of(columnId)), decoder.decode(value));
      }
      this.#end();
      if (slices.isOver(tags.length * LABEL_WORK)) await slices.yield();
    }
  }

  #noteArrivals({ batches }: ScanPart): void {
    const factor = MS_PER[dataType(timeIndexOf(this.#tags.table).type).timeUnit ?? 'ns'];
    for (const { sequenceFrom, sequenceTo, timeFirst } of batches) {
      // One less, because the conversion to a double may round up.
      this.arrivals.add(sequenceFrom, sequenceTo, Math.floor(Number(timeFirst) * factor) - 1);
    }
  }

  /** Returns the series that pass all tests, ascending. Yields between values, because one regular expression can be slow. */
  async matching(tests: readonly LabelTest[], slices: Slices, count = this.count): Promise<Int32Array> {
    let found: Int32Array | undefined;
    // Tests for one value first: they leave the fewest series for the others.
    const ordered = [...tests].sort((a, b) => rank(a) - rank(b));
    for (const test of ordered) {
      const next = found === undefined ? this.#passing(test, slices, count) : this.#filtered(found, test, slices);
      // A test for one value has a synchronous result.
      found = next instanceof Int32Array ? next : await next;
      if (found.length === 0) break;
    }
    return found ?? sidsBelow(count);
  }

  /** Returns the metric number of each series; undefined if the table is not a metric table. */
  async metricsOf(sids: Int32Array, slices: Slices): Promise<Uint32Array | undefined> {
    if (this.#metricTagId === undefined) return undefined;
    const metrics = new Uint32Array(sids.length).fill(NO_METRIC);
    const label = this.#byTagId.get(this.#metricTagId);
    if (label === undefined) return metrics;
    for (let i = 0; i < sids.length; i++) {
      const number = this.#valueOf(sids[i], label.position);
      if (number >= 0) metrics[i] = label.firstOf(number);
      if (slices.isOver(LABELS_WORK)) await slices.yield();
    }
    return metrics;
  }

  /** Returns the number of series that have one of the metric numbers. */
  countOf(metrics: ReadonlySet<number>): number {
    let count = 0;
    const label = this.#metricTagId === undefined ? undefined : this.#byTagId.get(this.#metricTagId);
    if (label === undefined) return 0;
    for (const number of label.values.keys()) if (metrics.has(label.firstOf(number))) count += label.countOf(number);
    return count;
  }

  /** Returns a function that makes the labels of a series with `make` and caches them under `key`. */
  cached(key: string, make: (sid: number) => Labels): (sid: number) => Labels {
    return this.#deps.labelsMemory.cached(this, key, make);
  }

  /** Calls `visit` for each non-empty label of a series. */
  labelsOf(sid: number, visit: (name: string, value: string) => void): void {
    const pairs = this.#pairs;
    for (let at = this.#starts.get(sid), to = this.#endOf(sid); at < to; at += 2) {
      const label = this.#order[pairs.get(at)];
      const value = label.values[pairs.get(at + 1)];
      if (value !== '') visit(label.name, value);
    }
  }

  /** Label names that occur in at least one series. */
  get names(): string[] {
    return [...this.#labels.keys()];
  }

  /** Returns the label names with a non-empty value in at least one of the series. */
  async namesOf(sids: Int32Array, slices: Slices): Promise<string[]> {
    const pairs = this.#pairs;
    const seen = new Uint8Array(this.#order.length);
    if (sids.length === this.count) {
      for (const [position, label] of this.#order.entries()) {
        if (label.values.some((it, number) => it !== '' && label.countOf(number) > 0)) seen[position] = 1;
      }
    } else {
      for (const sid of sids) {
        for (let at = this.#starts.get(sid), to = this.#endOf(sid); at < to; at += 2) {
          const position = pairs.get(at);
          if (seen[position] === 0 && this.#order[position].values[pairs.get(at + 1)] !== '') seen[position] = 1;
        }
        if (slices.isOver(LABELS_WORK)) await slices.yield();
      }
    }
    return this.#order.filter((_, position) => seen[position] === 1).map(({ name }) => name);
  }

  /** Returns the non-empty values of a label in the given series. */
  async valuesIn(name: string, sids: Int32Array, slices: Slices): Promise<string[]> {
    const label = this.#labels.get(name);
    if (label === undefined) return [];
    if (sids.length === this.count) {
      return label.values.filter((value, number) => value !== '' && label.countOf(number) > 0);
    }
    const seen = new Uint8Array(label.values.length);
    for (const sid of sids) {
      const number = this.#valueOf(sid, label.position);
      if (number >= 0) seen[number] = 1;
      if (slices.isOver(LABELS_WORK)) await slices.yield();
    }
    return label.values.filter((value, number) => seen[number] === 1 && value !== '');
  }

  /** Yields the values of a label with the number of series that have each. */
  *valuesOf(name: string): Iterable<{ readonly value: string; readonly count: number }> {
    const label = this.#labels.get(name);
    if (label === undefined) return;
    for (const [number, value] of label.values.entries()) {
      const count = label.countOf(number);
      if (count > 0) yield { value, count };
    }
  }

  /** Returns the label names of all series with `name="value"`; undefined if there are no such series. */
  async labelNamesWith(name: string, value: string, slices: Slices): Promise<ReadonlySet<string> | undefined> {
    const label = this.#labels.get(name);
    const number = label?.numberOf(value);
    if (label === undefined || number === undefined || label.countOf(number) === 0) return undefined;
    const series = label.seriesOf(number, this.count);
    const key = `${name}\0${value}`;
    const cached = this.#namesByValue.get(key) ?? { names: new Set<string>(), seen: 0 };
    this.#namesByValue.set(key, cached);
    // Series are only appended. A concurrent query may continue here during a yield.
    while (cached.seen < series.length) {
      this.labelsOf(series[cached.seen++], (found) => cached.names.add(found));
      if (slices.isOver(LABELS_WORK)) await slices.yield();
    }
    return cached.names;
  }

  #passing(test: LabelTest, slices: Slices, count: number): Int32Array | Promise<Int32Array> {
    const label = this.#labels.get(test.name);
    // Series without the label pass too, and the label's values do not list them.
    if (test.passes('')) return this.#without(label, test, slices, count);
    if (label === undefined) return NO_SERIES;
    if (test.equals !== undefined) {
      const number = label.numberOf(test.equals);
      return number === undefined ? NO_SERIES : label.seriesOf(number, count);
    }
    return this.#withValue(label, test, slices, count);
  }

  /** Returns the series that have a passing value. */
  async #withValue(label: LabelValues, { passes }: LabelTest, slices: Slices, count: number): Promise<Int32Array> {
    const { work = PLAIN_WORK } = passes;
    const found = new Integers();
    for (const [number, value] of label.values.entries()) {
      if (slices.isOver(work)) await slices.yield();
      if (passes(value)) label.addSeriesOf(number, count, found);
    }
    return sortSids(found.array.subarray(0, found.length), count);
  }

  /** Returns the series that have no failing value. */
  async #without(
    label: LabelValues | undefined,
    { passes }: LabelTest,
    slices: Slices,
    count: number,
  ): Promise<Int32Array> {
    const { work = PLAIN_WORK } = passes;
    const fails = new Uint8Array(count);
    for (const [number, value] of label?.values.entries() ?? []) {
      if (slices.isOver(work)) await slices.yield();
      if (label === undefined || passes(value)) continue;
      for (const sid of label.seriesOf(number, count)) fails[sid] = 1;
    }
    let passing = 0;
    for (let sid = 0; sid < count; sid++) if (fails[sid] === 0) passing++;
    const found = new Int32Array(passing);
    let at = 0;
    for (let sid = 0; sid < count; sid++) if (fails[sid] === 0) found[at++] = sid;
    return found;
  }

  async #filtered(sids: Int32Array, { name, passes }: LabelTest, slices: Slices): Promise<Int32Array> {
    const label = this.#labels.get(name);
    const passesAbsent = passes('');
    const { work = PLAIN_WORK } = passes;
    if (label === undefined) return passesAbsent ? sids : NO_SERIES;
    // 0: not tested yet, 1: passes, 2: fails.
    const known = new Uint8Array(label.values.length);
    const found = new Int32Array(sids.length);
    let length = 0;
    for (const sid of sids) {
      if (slices.isOver(1)) await slices.yield();
      const number = this.#valueOf(sid, label.position);
      if (number >= 0 && known[number] === 0) {
        if (slices.isOver(work)) await slices.yield();
        known[number] = passes(label.values[number]) ? 1 : 2;
      }
      if (number < 0 ? passesAbsent : known[number] === 1) found[length++] = sid;
    }
    return found.subarray(0, length);
  }

  /** Returns the value number of the label at `position`; -1 if the series lacks the label. */
  #valueOf(sid: number, position: number): number {
    const pairs = this.#pairs;
    for (let at = this.#starts.get(sid), to = this.#endOf(sid); at < to; at += 2) {
      if (pairs.get(at) === position) return pairs.get(at + 1);
    }
    return -1;
  }

  /** Returns the end of the pairs of a series. */
  #endOf(sid: number): number {
    return sid + 1 < this.count ? this.#starts.get(sid + 1) : this.#pairs.length;
  }

  /** Starts the next series. */
  #start(): void {
    this.#starts.extend(this.count + 1);
    this.#starts.set(this.count, this.#pairs.length);
  }

  /** Ends the series, with the tags that it has without them. */
  #end(): void {
    for (const [id, text] of this.#implied) {
      const label = this.#labelOf(this.#tags.of(id));
      if (this.#valueOf(this.count, label.position) < 0) this.#addText(label, text);
    }
    this.count++;
  }

  #addText(label: LabelValues, value: string): void {
    this.#addPair(label, label.numberFor(value));
  }

  #addPair(label: LabelValues, number: number): void {
    const at = this.#pairs.length;
    this.#pairs.extend(at + 2);
    this.#pairs.set(at, label.position);
    this.#pairs.set(at + 1, number);
    label.add(number, this.count);
  }

  #labelOf({ id, name }: Column): LabelValues {
    let label = this.#byTagId.get(id);
    if (label === undefined) {
      label = new LabelValues(this.#order.length, this.#nameOf(name));
      this.#byTagId.set(id, label);
      this.#labels.set(label.name, label);
      this.#order.push(label);
    }
    return label;
  }
}

function rank({ equals, passes }: LabelTest): number {
  if (passes('')) return 2;
  return equals === undefined ? 1 : 0;
}
