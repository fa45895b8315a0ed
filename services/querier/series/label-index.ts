import type { Clock } from '#shared/clock/clock';
import { Slices } from '#shared/clock/slices';
import type { Column, SeriesFile, Table } from '#shared/contracts/gen/common';
import type { ScanPart } from '#shared/contracts/gen/ingester';
import type { DuckDBConnection, DuckDBDataChunk, DuckDBVector } from '#shared/duckdb/engine';
import { textAt } from '#shared/duckdb/text-bytes';
import { invariant } from '#shared/errors/invariant';
import { decodeDefinitions, decodeTags } from '#shared/rowbatch/definitions';
import { dataType } from '#shared/schema/data-type';
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

export interface LabelIndexDeps {
  readonly connection: DuckDBConnection;
  readonly files: Pick<SegmentFiles, 'absolute'>;
  readonly clock: Clock;
  readonly labelsMemory: LabelsCache;
  /** The table as it is by now. */
  readonly latestSchema: (tableId: number) => Promise<Table>;
}

/** What it takes to take in one label of a series, and to begin with a column, as so many numbers. */
const LABEL_WORK = 32;
const COLUMN_WORK = 256 * LABEL_WORK;
/** The same to look through the labels of a series. */
const LABELS_LOOK = 8;

/** Whether a series is meant, told by one of its labels; an absent label counts as an empty value. */
export interface LabelTest {
  readonly name: string;
  /** The only value that passes, where that is so. */
  readonly equals: string | undefined;
  readonly passes: ValueTest;
}

/** The series of one region in memory, found by their labels: each value of a label knows its series. */
export class LabelIndex implements SeriesRows {
  count = 0;
  pins = 0;
  isObsolete = false;
  /** Of rows that came since the index was made. Whoever forgets rows makes a new index. */
  readonly arrivals = new ArrivalLog();
  /** Of the region since then. */
  readonly losses = new SegmentLosses();
  readonly #deps: LabelIndexDeps;
  readonly #labels = new Map<string, LabelValues>();
  readonly #byTagId = new Map<number, LabelValues>();
  readonly #tags: KnownTags;
  readonly #metricTagId: number | undefined;
  readonly #nameOf: (column: string) => string;
  /** Pairs of (position in `#order`, number of the value) of all series, one after the other. */
  readonly #pairs = new IntegerBlocks();
  /** Where the pairs of each series begin. */
  readonly #starts = new IntegerBlocks();
  readonly #order: LabelValues[] = [];
  /** By label and value, as far as it was asked: names of labels of the first `seen` series. */
  readonly #under = new Map<string, { readonly names: Set<string>; seen: number }>();

  /** @param nameOf the label that a tag column is. */
  constructor(table: Table, nameOf: (column: string) => string, deps: LabelIndexDeps) {
    this.#tags = new KnownTags(table, deps.latestSchema);
    this.#metricTagId = metricTagOf(table)?.id;
    this.#nameOf = nameOf;
    this.#deps = deps;
  }

  /** Tags that were added since are taken in as they come, and none changes its name. */
  fits(table: Table): boolean {
    this.#tags.adopt(table);
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
      invariant(page.from === this.count, `series file ${page.file.path} begins behind series ${this.count}`);
      if (isReadByTag(page, tags)) await this.#addByTag(pages, page, tags, labels);
      else for await (const chunk of pages.rows(page, tags)) await this.#addRows(chunk, labels);
    }
    const expected = Math.max(...files.map((file) => file.sidLast)) + 1;
    invariant(this.count === expected, `series files name ${expected} series, ${this.count} are known`);
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
      this.count++;
      if (slices.isOver(labels.length)) await slices.yield();
    }
  }

  /** Between series, others are served: there may be thousands of labels to look at. */
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
      this.count++;
      if (slices.isOver(labels.length * LABEL_WORK)) await slices.yield();
    }
  }

  async append(part: ScanPart): Promise<void> {
    this.#noteArrivals(part);
    if (part.seriesTo <= this.count) return;
    invariant(part.seriesFrom <= this.count, 'series of a scan begin behind those that are known');
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
      this.count++;
      if (slices.isOver(tags.length * LABEL_WORK)) await slices.yield();
    }
  }

  #noteArrivals({ batches }: ScanPart): void {
    const factor = MS_PER[dataType(timeIndexOf(this.#tags.table).type).timeUnit ?? 'ns'];
    for (const { sequenceFrom, sequenceTo, timeFirst } of batches) {
      // One less than it is, for what doubles cannot tell.
      this.arrivals.note(sequenceFrom, sequenceTo, Math.floor(Number(timeFirst) * factor) - 1);
    }
  }

  /** The series that pass all tests, ascending. Others are served between values: an expression may take long for one. */
  async matching(tests: readonly LabelTest[], slices: Slices, count = this.count): Promise<Int32Array> {
    let found: Int32Array | undefined;
    // What names one value leaves the least to look at.
    const ordered = [...tests].sort((a, b) => rank(a) - rank(b));
    for (const test of ordered) {
      const next = found === undefined ? this.#passing(test, slices, count) : this.#filtered(found, test, slices);
      // What names one value has nothing to wait for.
      found = next instanceof Int32Array ? next : await next;
      if (found.length === 0) break;
    }
    return found ?? sidsBelow(count);
  }

  /** The metric number of each series; undefined if the table is not a metric table. */
  async metricsOf(sids: Int32Array, slices: Slices): Promise<Uint32Array | undefined> {
    if (this.#metricTagId === undefined) return undefined;
    const metrics = new Uint32Array(sids.length).fill(NO_METRIC);
    const label = this.#byTagId.get(this.#metricTagId);
    if (label === undefined) return metrics;
    for (let i = 0; i < sids.length; i++) {
      const number = this.#valueOf(sids[i], label.position);
      if (number >= 0) metrics[i] = label.firstOf(number);
      if (slices.isOver(LABELS_LOOK)) await slices.yield();
    }
    return metrics;
  }

  /** How many series have one of the metric numbers. */
  countOf(metrics: ReadonlySet<number>): number {
    let count = 0;
    const label = this.#metricTagId === undefined ? undefined : this.#byTagId.get(this.#metricTagId);
    if (label === undefined) return 0;
    for (const number of label.values.keys()) if (metrics.has(label.firstOf(number))) count += label.countOf(number);
    return count;
  }

  /** Gives what was made of a series before under that key, else what `make` gives. */
  cached(key: string, make: (sid: number) => Labels): (sid: number) => Labels {
    return this.#deps.labelsMemory.cached(this, key, make);
  }

  /** Calls back with each label of a series that is not empty. */
  labelsOf(sid: number, visit: (name: string, value: string) => void): void {
    const pairs = this.#pairs;
    for (let at = this.#starts.get(sid), to = this.#endOf(sid); at < to; at += 2) {
      const label = this.#order[pairs.get(at)];
      const value = label.values[pairs.get(at + 1)];
      if (value !== '') visit(label.name, value);
    }
  }

  /** Names of labels that some series has. */
  get names(): string[] {
    return [...this.#labels.keys()];
  }

  /** Names of labels that some of the series have with a value. */
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
        if (slices.isOver(LABELS_LOOK)) await slices.yield();
      }
    }
    return this.#order.filter((_, position) => seen[position] === 1).map(({ name }) => name);
  }

  /** Values of a label that some of the series have. */
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
      if (slices.isOver(LABELS_LOOK)) await slices.yield();
    }
    return label.values.filter((value, number) => seen[number] === 1 && value !== '');
  }

  /** The values of a label, and how many series have each. */
  *valuesOf(name: string): Iterable<{ readonly value: string; readonly count: number }> {
    const label = this.#labels.get(name);
    if (label === undefined) return;
    for (const [number, value] of label.values.entries()) {
      const count = label.countOf(number);
      if (count > 0) yield { value, count };
    }
  }

  /** Names of the labels of the series that have a value of a label; undefined if there are none. */
  async labelsUnder(name: string, value: string, slices: Slices): Promise<ReadonlySet<string> | undefined> {
    const label = this.#labels.get(name);
    const number = label?.numberOf(value);
    if (label === undefined || number === undefined || label.countOf(number) === 0) return undefined;
    const series = label.seriesOf(number, this.count);
    const key = `${name}\0${value}`;
    const under = this.#under.get(key) ?? { names: new Set<string>(), seen: 0 };
    this.#under.set(key, under);
    // Numbers of series only grow. Another question may go on here meanwhile.
    while (under.seen < series.length) {
      this.labelsOf(series[under.seen++], (found) => under.names.add(found));
      if (slices.isOver(LABELS_LOOK)) await slices.yield();
    }
    return under.names;
  }

  #passing(test: LabelTest, slices: Slices, count: number): Int32Array | Promise<Int32Array> {
    const label = this.#labels.get(test.name);
    // Series without the label cannot be found by its values.
    if (test.passes('')) return this.#without(label, test, slices, count);
    if (label === undefined) return NO_SERIES;
    if (test.equals !== undefined) {
      const number = label.numberOf(test.equals);
      return number === undefined ? NO_SERIES : label.seriesOf(number, count);
    }
    return this.#withValue(label, test, slices, count);
  }

  /** The series that have a value that passes. */
  async #withValue(label: LabelValues, { passes }: LabelTest, slices: Slices, count: number): Promise<Int32Array> {
    const { work = PLAIN_WORK } = passes;
    const found = new Integers();
    for (const [number, value] of label.values.entries()) {
      if (slices.isOver(work)) await slices.yield();
      if (passes(value)) label.addSeriesOf(number, count, found);
    }
    return sortSids(found.array.subarray(0, found.length), count);
  }

  /** The series that have no value that fails. */
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
    // 0: not known yet, 1: passes, 2: does not.
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

  /** Number of the value that a series has of the label at `position`; -1: none. */
  #valueOf(sid: number, position: number): number {
    const pairs = this.#pairs;
    for (let at = this.#starts.get(sid), to = this.#endOf(sid); at < to; at += 2) {
      if (pairs.get(at) === position) return pairs.get(at + 1);
    }
    return -1;
  }

  /** Where the pairs of a series end. */
  #endOf(sid: number): number {
    return sid + 1 < this.count ? this.#starts.get(sid + 1) : this.#pairs.length;
  }

  /** Begins the next series. */
  #start(): void {
    this.#starts.extend(this.count + 1);
    this.#starts.set(this.count, this.#pairs.length);
  }

  #addText(label: LabelValues, value: string): void {
    this.#addPair(label, label.numbered(value));
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
