import { Slices } from '#shared/clock/slices';
import type { Clock } from '#shared/clock/clock';
import type { Column, SeriesFile, Table } from '#shared/contracts/gen/common';
import type { ScanPart } from '#shared/contracts/gen/ingester';
import { ChunkWriter, CHUNK_ROWS, type ChunkColumn } from '#shared/duckdb/chunk-writer';
import type { DuckDBConnection } from '#shared/duckdb/engine';
import { isOutOfMemory } from '#shared/duckdb/errors';
import { quoteText } from '#shared/duckdb/quote';
import { invariant } from '#shared/errors/invariant';
import { decodeDefinitions, decodeTags, type SeriesDefinition } from '#shared/rowbatch/definitions';
import { textColumn } from '#shared/rowbatch/text-column';
import { dataType } from '#shared/schema/data-type';
import { impliedTags } from '#shared/schema/implied-tags';
import { metricTagOf } from '#shared/schema/metric-table';
import { SID_FIELD_ID } from '#shared/schema/segment-columns';
import { tagsOf } from '#shared/schema/table-schema';

import { IndexesFull } from '../series/memory/index-memory.js';
import type { SeriesIndex } from '../series/series-index.js';
import type { IndexReader, SharedIndex } from '../series/shared-indexes.js';
import { TagColumn } from '../series/tag-column.js';
import { readySeriesWithTags, seriesWithTags } from '../series/tag-selection.js';
import type { SeriesRows } from './rows-layout.js';
import type { SegmentFiles } from './segment-files.js';

/** Number of metrics up to which a query lists them. */
const METRICS_MAX = 64;
/** Series that are copied into memory, at hundreds of bytes each; larger sets are read from their files. */
export const COPIED_MAX = 1 << 18;
/** Largest number of copied tag cells. Each takes ten bytes, even if the series does not have the tag. */
const COPIED_CELLS = 1 << 24;
/** Definitions of series that are kept for the index before the first query needs it. */
const DEFERRED_BYTES = 1 << 20;
/** Those that are kept while there is too little memory to add them. */
const WAITING_BYTES_MAX = 4 * DEFERRED_BYTES;

/** Series that a query selects by tag values. */
export interface NamedSeries {
  /** Series numbers, ascending. */
  readonly sids: readonly number[];
  /** Value of each series, in the same order, by tag column ID; only for tags that the query filters by. */
  readonly values: ReadonlyMap<number, readonly string[]>;
}

/** Tag values that a query requires, by column ID. */
export type TagValues = ReadonlyMap<number, readonly string[]>;

/** The series that a query can match. */
export interface MatchingSeries {
  /** Series numbers, ascending; undefined: any series. */
  readonly selected: Int32Array | undefined;
  /** Whether the series with the tag values are not known, for lack of memory: `selected` is undefined then. */
  readonly isUnselected: boolean;
  /** The same series with their tag values, for the engine; undefined if they are too many to list. */
  readonly named: NamedSeries | undefined;
  /** Metric numbers of all series with one of the requested names; undefined if the query does not name metrics. */
  readonly metrics: readonly number[] | undefined;
}

/** What a query without tag values can match. */
export const ANY_SERIES: MatchingSeries = {
  selected: undefined,
  isUnselected: false,
  named: undefined,
  metrics: undefined,
};
const UNKNOWN_SERIES: MatchingSeries = { ...ANY_SERIES, isUnselected: true };

/** Number of series above which a filter by series does not speed up a query of the engine. */
const NAMED_MAX = 64;

/** Collaborators of a `SeriesTable`. */
export interface SeriesTableDeps {
  readonly connection: DuckDBConnection;
  readonly appending: DuckDBConnection;
  readonly files: Pick<SegmentFiles, 'absolute'>;
  readonly clock: Clock;
}

/**
 * The series of one region for the query instance, `(sid, f<tag id> ..)`, with ascending numbers and no gaps: a table or,
 * for many series, the series files and a table of the series that are in no file. Rows are only appended. New tags, or a
 * restart of the owner, require a new table.
 */
export class SeriesTable implements SeriesRows {
  /** Name of the table. */
  readonly stored: string;
  /** Number of series in the files and the table. */
  count = 0;
  pins = 0;
  /** Series below this number are in files and not in the table. */
  #filedTo = 0;
  readonly #filePaths: string[] = [];
  readonly #shared: SharedIndex;
  /** Changes of the index that are left until a query needs it. */
  readonly #deferred: { readonly bytes: number; readonly apply: () => Promise<void> }[] = [];
  #applied: Promise<void> = Promise.resolve();
  /** Why there is no index. */
  #refusal: IndexesFull | undefined;
  isObsolete = false;
  readonly tagIds: ReadonlySet<number>;
  readonly #tags: readonly Column[];
  /** Largest number of series that may be copied into the table. */
  readonly #copiedMax: number;
  readonly #metricTagId: number | undefined;
  /** Values of tags that series without them have, by column ID. */
  readonly #implied: ReadonlyMap<number, string>;
  readonly #deps: SeriesTableDeps;

  private constructor(deps: SeriesTableDeps, name: string, table: Table, shared: SharedIndex) {
    this.#deps = deps;
    this.#shared = shared;
    this.stored = name;
    this.#tags = tagsOf(table);
    this.#copiedMax = Math.min(COPIED_MAX, Math.floor(COPIED_CELLS / Math.max(this.#tags.length, 1)));
    this.#metricTagId = metricTagOf(table)?.id;
    this.#implied = impliedTags(table);
    this.tagIds = new Set(this.#tags.map((tag) => tag.id));
  }

  /** @param shared the index of the region, which the table closes. */
  static async create(deps: SeriesTableDeps, name: string, table: Table, shared: SharedIndex): Promise<SeriesTable> {
    const series = new SeriesTable(deps, name, table, shared);
    const tags = series.#tags.map((tag) => `f${tag.id} ${dataType(tag.type).duckdb}`);
    await deps.connection.run(`CREATE TABLE ${name} (${['sid UINTEGER', ...tags].join(', ')})`);
    return series;
  }

  /** SQL of all series, for a FROM clause. */
  get relation(): string {
    if (this.#filedTo === 0) return this.stored;
    const columns = ['sid', ...this.#tags.map(({ id }) => `f${id}`)].join(', ');
    const filed = `SELECT ${this.#filedColumns()} FROM ${this.#filesSql(this.#filePaths)}`;
    return `(${filed} UNION ALL SELECT ${columns} FROM ${this.stored})`;
  }

  /** SELECT list over series files. */
  #filedColumns(): string {
    const tags = this.#tags.map(({ id, type }) => {
      const implied = this.#implied.get(id);
      return implied === undefined
        ? `f${id}`
        : `coalesce(f${id}, ${quoteText(implied)}::${dataType(type).duckdb}) AS f${id}`;
    });
    return ['sid', ...tags].join(', ');
  }

  /** Whether there was not enough memory for the index of the series. */
  get isUnindexed(): boolean {
    return this.#refusal !== undefined;
  }

  /**
   * Reports whether there is a column for every tag, the table has not copied too many series of files, and there is an index
   * or no memory for it.
   */
  fits(table: Table, publishedCount: number): boolean {
    if (this.#refusal !== undefined && this.#shared.hasRoom) return false;
    if (Math.min(publishedCount, this.count) - this.#filedTo > this.#copiedMax) return false;
    return tagsOf(table).every((tag) => this.tagIds.has(tag.id)) && this.#shared.fits(table);
  }

  share(owner: string): void {
    this.#shared.share(owner);
  }

  readBy(reader: IndexReader): void {
    this.#shared.readBy(reader);
  }

  /** Ends the use of the index. */
  close(): void {
    this.#shared.close();
  }

  /**
   * Returns the series below `count` that have one of the values of each tag. They are copied, because others may be sent
   * to worker threads with the memory that they are a part of.
   */
  async matching(tagValues: TagValues, count: number): Promise<MatchingSeries> {
    if (tagValues.size === 0) return ANY_SERIES;
    try {
      const index = await this.#index();
      const selected = await seriesWithTags(index, tagValues, count, new Slices(this.#deps.clock));
      return this.#matchingSeries(index, selected.slice(), tagValues);
    } catch (error) {
      // The engine finds the series in its own tables and in files.
      if (isOutOfMemory(error)) return UNKNOWN_SERIES;
      throw error;
    }
  }

  /** Does what `matching` does, if the index need not be changed for it; undefined otherwise. */
  readyMatching(tagValues: TagValues, count: number): MatchingSeries | undefined {
    if (tagValues.size === 0) return ANY_SERIES;
    if (this.#refusal !== undefined || this.#deferred.length > 0) return undefined;
    const { index } = this.#shared;
    const selected = readySeriesWithTags(index, tagValues, count);
    return selected && this.#matchingSeries(index, selected.slice(), tagValues);
  }

  #matchingSeries(index: SeriesIndex, selected: Int32Array, tagValues: TagValues): MatchingSeries {
    const named = namedSeries(index, selected, tagValues);
    return { selected, isUnselected: false, named, metrics: this.#metrics(index, tagValues) };
  }

  #metrics(index: SeriesIndex, tagValues: TagValues): readonly number[] | undefined {
    const names = this.#metricTagId === undefined ? undefined : tagValues.get(this.#metricTagId);
    if (this.#metricTagId === undefined || names === undefined || names.length > METRICS_MAX) return undefined;
    const label = index.labelOfTag(this.#metricTagId);
    if (label === undefined) return [];
    const numbers = names.flatMap((name) => label.numberOf(name) ?? []);
    return numbers.flatMap((number) => (label.countOf(number) > 0 ? [label.firstOf(number)] : []));
  }

  /** Returns the values of a tag of all series. @throws `IndexesFull` if there is not enough memory for the index. */
  async tagColumn(tagId: number): Promise<TagColumn> {
    return new TagColumn(await this.#index(), tagId);
  }

  /** Returns the index with all series. @throws `IndexesFull` */
  async #index(): Promise<SeriesIndex> {
    if (this.#refusal !== undefined) throw this.#refusal;
    if (this.#deferred.length > 0) {
      const applied = this.#applied.then(() => this.#applyDeferred());
      this.#applied = applied.catch(() => undefined);
      await applied;
    }
    return this.#shared.index;
  }

  async #applyDeferred(): Promise<void> {
    for (;;) {
      const next = this.#deferred.at(0);
      if (next === undefined) return;
      try {
        // It stays if this fails: the next query repeats it.
        await next.apply();
      } catch (error) {
        if (error instanceof IndexesFull) this.#giveUp(error);
        throw error;
      }
      this.#deferred.shift();
    }
  }

  /** Returns the memory of the index, which could not have all series. When there is enough, another table is made. */
  #giveUp(refusal: IndexesFull): void {
    this.#refusal = refusal;
    this.#deferred.length = 0;
    this.#shared.abandon();
  }

  get #deferredBytes(): number {
    return this.#deferred.reduce((sum, it) => sum + it.bytes, 0);
  }

  /** @param bytes memory that `apply` holds */
  async #defer(bytes: number, apply: () => Promise<void>): Promise<void> {
    if (this.#refusal !== undefined) return;
    this.#deferred.push({ bytes, apply });
    if (this.#deferredBytes <= DEFERRED_BYTES) return;
    try {
      await this.#index();
    } catch (error) {
      // The engine reads the series without an index. While it has too little memory itself, they wait for the next attempt.
      if (!isOutOfMemory(error) || this.#deferredBytes > WAITING_BYTES_MAX) throw error;
    }
  }

  async load(files: readonly SeriesFile[]): Promise<void> {
    if (files.length === 0) return;
    await this.#defer(0, () => this.#shared.load(files));
    const paths = files.map((file) => this.#deps.files.absolute(file.path));
    const end = Math.max(...files.map((file) => file.sidLast)) + 1;
    // A series must not be in both the files and the table.
    const mayStayFiled = this.count === this.#filedTo;
    if ((mayStayFiled && end > this.#copiedMax) || !(await this.#copies(paths, mayStayFiled))) {
      this.#filePaths.push(...paths);
      this.#filedTo = end;
    }
    this.count = end;
  }

  /**
   * Copies series of files into the table.
   *
   * @param mayFail if there is not enough memory; an error otherwise
   * @returns whether they were copied: all of them, or none
   */
  async #copies(paths: readonly string[], mayFail: boolean): Promise<boolean> {
    try {
      await this.#deps.connection.run(
        `INSERT INTO ${this.stored} SELECT ${this.#filedColumns()} FROM ${this.#filesSql(paths)} ` +
          `WHERE sid >= ${this.count} ORDER BY sid`,
      );
      return true;
    } catch (error) {
      if (mayFail && isOutOfMemory(error)) return false;
      throw error;
    }
  }

  #filesSql(paths: readonly string[]): string {
    const schema = [
      `${SID_FIELD_ID}: {name: 'sid', type: 'UINTEGER', default_value: NULL}`,
      ...this.#tags.map(
        (tag) => `${tag.id}: {name: 'f${tag.id}', type: '${dataType(tag.type).duckdb}', default_value: NULL}`,
      ),
    ].join(', ');
    return `read_parquet([${paths.map((path) => quoteText(path)).join(', ')}], schema = MAP {${schema}})`;
  }

  async append(part: ScanPart): Promise<void> {
    if (part.seriesTo <= this.count) return;
    invariant(part.seriesFrom <= this.count, 'the scan skips series');
    const series = { ...part, definitions: part.definitions.slice(), batches: [] };
    await this.#defer(series.definitions.byteLength, () => this.#shared.append(series));
    const definitions = decodeDefinitions(part.definitions).slice(this.count - part.seriesFrom);
    const writer = await ChunkWriter.open(this.#deps.appending, this.stored);
    try {
      for (let at = 0; at < definitions.length; at += CHUNK_ROWS) {
        const block = definitions.slice(at, at + CHUNK_ROWS);
        writer.append(this.#block(block, this.count), 0, block.length);
        this.count += block.length;
      }
    } finally {
      writer.close();
    }
  }

  #block(definitions: readonly SeriesDefinition[], firstSid: number): ChunkColumn[] {
    const sids = Uint32Array.from(definitions, (_, i) => firstSid + i);
    const rows = definitions.map(
      (definition) => new Map(decodeTags(definition.tags).map((tag) => [tag.columnId, tag.value])),
    );
    return [
      { kind: 'u32', values: sids },
      ...this.#tags.map((tag): ChunkColumn => {
        const implied = this.#implied.get(tag.id);
        const missing = implied === undefined ? undefined : Buffer.from(implied);
        const column = textColumn(
          tag,
          rows.map((values) => values.get(tag.id) ?? missing),
        );
        return column === undefined ? { kind: 'null' } : { kind: 'column', column };
      }),
    ];
  }
}

function namedSeries(index: SeriesIndex, sids: Int32Array, tagValues: TagValues): NamedSeries | undefined {
  if (sids.length > NAMED_MAX) return undefined;
  const values = new Map<number, readonly string[]>();
  for (const tagId of tagValues.keys()) {
    const column = new TagColumn(index, tagId);
    const ofSids: string[] = [];
    for (const sid of sids) ofSids.push(column.values[column.ofSeries(sid)]);
    values.set(tagId, ofSids);
  }
  return { sids: Array.from(sids), values };
}
