import type { Clock } from '#shared/clock/clock';
import { Slices } from '#shared/clock/slices';
import type { Column, SeriesFile, Table } from '#shared/contracts/gen/common';
import type { ScanPart } from '#shared/contracts/gen/ingester';
import type { DuckDBConnection, DuckDBDataChunk, DuckDBVector } from '#shared/duckdb/engine';
import { namedIfOutOfMemory } from '#shared/duckdb/errors';
import { textAt } from '#shared/duckdb/text-bytes';
import { invariant } from '#shared/errors/invariant';
import { decodeDefinitions, decodeTags } from '#shared/rowbatch/definitions';
import { impliedTags } from '#shared/schema/implied-tags';
import { metricTagOf } from '#shared/schema/metric-table';

import { KnownTags } from './known-tags.js';
import { LabelValues } from './label-values.js';
import { IndexesFull, type IndexAccount } from './memory/index-memory.js';
import { PackedSeries } from './packed-series.js';
import { isReadByTag, pagesOf, SeriesPages, type SeriesPage } from './series-pages.js';

/** Collaborators of a `SeriesIndex`. */
export interface SeriesIndexDeps {
  readonly connection: DuckDBConnection;
  readonly files: { absolute(path: string): string };
  readonly clock: Clock;
  /** Returns the current schema of the table. */
  readonly latestSchema: (tableId: number) => Promise<Table>;
  /** Returns the label name of a tag column. */
  readonly nameOf: (table: Table, column: string) => string;
}

/** Memory by which an index grows before it is measured, and series that are added meanwhile at most. */
const GROWTH_BYTES = 256 * 1024;
const GROWTH_SERIES = 4096;

/** Costs of indexing one label of a series, and of starting a column, in units of reading one number. */
const LABEL_WORK = 32;
const COLUMN_WORK = 256 * LABEL_WORK;

/**
 * Index of the series of one region: their labels, and the series of each label value. SQL and PromQL share it.
 *
 * Labels are dictionaries of values; a series has one number for each of its labels. The series of the values of a label are
 * sorted at the first query for the label.
 */
export class SeriesIndex {
  /** Number of series. A reader may know fewer of them. */
  count = 0;
  readonly #deps: SeriesIndexDeps;
  readonly #account: IndexAccount;
  /** Memory of values that were added since the index was measured. */
  #grownBytes = 0;
  /** Memory that running sorts of postings need. */
  #sortingBytes = 0;
  readonly #labels = new Map<string, LabelValues>();
  readonly #byTagId = new Map<number, LabelValues>();
  readonly #order: LabelValues[] = [];
  readonly #tags: KnownTags;
  readonly #metricTagId: number | undefined;
  /** Values of tags that series without them have, by column ID. */
  #implied: ReadonlyMap<number, string>;
  readonly #packed = new PackedSeries();
  /** Labels of the series that is added. */
  readonly #positions: number[] = [];
  readonly #numbers: number[] = [];
  #changes: Promise<void> = Promise.resolve();

  constructor(table: Table, deps: SeriesIndexDeps, account: IndexAccount) {
    this.#deps = deps;
    this.#account = account;
    this.#tags = new KnownTags(table, deps.latestSchema);
    this.#metricTagId = metricTagOf(table)?.id;
    this.#implied = impliedTags(table);
  }

  /** Schema of the newest version seen so far. */
  get table(): Table {
    return this.#tags.table;
  }

  /** Memory in bytes, about, when it was measured last. */
  get bytes(): number {
    return this.#account.bytes;
  }

  /** Labels in the order of their positions. */
  get labels(): readonly LabelValues[] {
    return this.#order;
  }

  /** Returns a label; undefined if no series has it. */
  label(name: string): LabelValues | undefined {
    return this.#labels.get(name);
  }

  /** Returns the label of a tag column; undefined if no series has it. */
  labelOfTag(tagId: number): LabelValues | undefined {
    return this.#byTagId.get(tagId);
  }

  /** Column ID of the metric name; undefined if the table is not a metric table. */
  get metricTagId(): number | undefined {
    return this.#metricTagId;
  }

  /**
   * Reports whether the index is right for the schema, which it uses from then on if it is newer. New tags are added when they
   * occur, and tags are never renamed. But a tag that series have without it must be known before the first one is added.
   */
  fits(table: Table): boolean {
    const implied = impliedTags(table);
    if (this.count > 0 && [...implied.keys()].some((id) => !this.#implied.has(id))) return false;
    this.#tags.adopt(table);
    this.#implied = impliedTags(this.#tags.table);
    return true;
  }

  /** Returns the memory: no reader uses the index any more. */
  close(): void {
    this.#account.close();
  }

  /**
   * Adds the series of the files from `count` on. The files start at or below `count` and must have been checked.
   *
   * @throws `IndexesFull` if there is no memory for more; the index has those that were added before.
   */
  load(files: readonly SeriesFile[]): Promise<void> {
    return this.#afterOthers(() => this.#load(files.filter(({ sidLast }) => sidLast >= this.count)));
  }

  /** As `load`, for the definitions of series that are in no file yet; skips those that it has. */
  append(part: ScanPart): Promise<void> {
    return this.#afterOthers(() => this.#append(part));
  }

  /** Returns the value number of the label at `position`; -1 if the series lacks the label. */
  valueOf(sid: number, position: number): number {
    return this.#packed.valueOf(sid, position);
  }

  /** Calls `visit` for each label of a series. */
  visit(sid: number, visit: (label: LabelValues, number: number) => void): void {
    this.#packed.visit(sid, (position, number) => {
      visit(this.#order[position], number);
    });
  }

  /**
   * Returns the label after the series below `count` were added to its postings.
   *
   * @throws `IndexesFull` if there is no memory for that.
   */
  indexed(label: LabelValues, count: number, slices: Slices): LabelValues | Promise<LabelValues> {
    const bytes = label.postings.bytesToExtend(count, label.values.length);
    return bytes === 0 ? label : this.#extended(label, count, slices, bytes);
  }

  async #extended(label: LabelValues, count: number, slices: Slices, bytes: number): Promise<LabelValues> {
    this.#sortingBytes += bytes;
    try {
      this.#measure();
      await label.postings.extendTo(count, label.values.length, slices);
    } finally {
      this.#sortingBytes -= bytes;
      this.#account.note(this.#measuredBytes());
    }
    return label;
  }

  #measuredBytes(): number {
    return this.#order.reduce((sum, label) => sum + label.bytes, this.#packed.bytes) + this.#sortingBytes;
  }

  /** @throws `IndexesFull` if the index has grown by more than there is. */
  #measure(): void {
    this.#grownBytes = 0;
    if (!this.#account.grow(this.#measuredBytes())) throw new IndexesFull(this.table.name);
  }

  #noteGrowth(bytes: number): void {
    this.#grownBytes += bytes;
    if (this.#grownBytes >= GROWTH_BYTES) this.#measure();
  }

  /** Runs one change after the other: readers of the region add the same series. */
  #afterOthers(change: () => Promise<void>): Promise<void> {
    const changed = this.#changes.then(async () => {
      try {
        await change();
        this.#measure();
      } catch (error) {
        this.#account.note(this.#measuredBytes());
        throw namedIfOutOfMemory(error);
      }
    });
    this.#changes = changed.catch(() => undefined);
    return changed;
  }

  async #load(files: readonly SeriesFile[]): Promise<void> {
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
        if (number > 0) this.#add(labels[i], number - 1);
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

  async #append(part: ScanPart): Promise<void> {
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

  /** Starts the next series. */
  #start(): void {
    this.#positions.length = this.#numbers.length = 0;
  }

  /** Ends the series, with the tags that it has without them. */
  #end(): void {
    for (const [id, text] of this.#implied) {
      const label = this.#labelOf(this.#tags.of(id));
      if (!this.#positions.includes(label.position)) this.#addText(label, text);
    }
    this.#packed.add(this.#positions, this.#numbers);
    for (const [i, position] of this.#positions.entries()) this.#order[position].add(this.#numbers[i], this.count);
    this.count++;
    if (this.count % GROWTH_SERIES === 0) this.#measure();
  }

  #addText(label: LabelValues, value: string): void {
    this.#add(label, label.numberFor(value));
  }

  #add({ position }: LabelValues, number: number): void {
    this.#positions.push(position);
    this.#numbers.push(number);
  }

  #labelOf({ id, name }: Column): LabelValues {
    let label = this.#byTagId.get(id);
    if (label === undefined) {
      const position = this.#order.length;
      const labelName = this.#deps.nameOf(this.#tags.table, name);
      const valueOf = (sid: number): number => this.#packed.valueOf(sid, position);
      label = new LabelValues(position, labelName, valueOf, (bytes) => this.#noteGrowth(bytes));
      this.#byTagId.set(id, label);
      this.#labels.set(label.name, label);
      this.#order.push(label);
    }
    return label;
  }
}
