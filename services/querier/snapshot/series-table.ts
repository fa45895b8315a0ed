import type { Column, SeriesFile, Table } from '#shared/contracts/gen/common';
import type { ScanPart } from '#shared/contracts/gen/ingester';
import { ChunkWriter, CHUNK_ROWS, type ChunkColumn } from '#shared/duckdb/chunk-writer';
import type { DuckDBConnection } from '#shared/duckdb/engine';
import { quoteText } from '#shared/duckdb/quote';
import { invariant } from '#shared/errors/invariant';
import { decodeDefinitions, decodeTags, type SeriesDefinition } from '#shared/rowbatch/definitions';
import { textColumn } from '#shared/rowbatch/text-column';
import { dataType } from '#shared/schema/data-type';
import { impliedTags } from '#shared/schema/implied-tags';
import { metricTagOf } from '#shared/schema/metric-table';
import { SID_FIELD_ID } from '#shared/schema/segment-columns';
import { tagsOf } from '#shared/schema/table-schema';

import type { SeriesRows } from './rows-layout.js';
import type { SegmentFiles } from './segment-files.js';
import { SeriesSearch, type NamedSeries } from './series-search.js';
import { TagColumn } from './tag-column.js';
import { TagIndex } from './tag-index.js';

/** Number of metrics up to which a query lists them. */
const METRICS_MAX = 64;
/** Series that are copied into memory, at hundreds of bytes each; larger sets are read from their files. */
export const COPIED_MAX = 1 << 18;
/** Largest number of copied tag cells. Each takes ten bytes, even if the series does not have the tag. */
const COPIED_CELLS = 1 << 24;

/** Collaborators of a `SeriesTable`. */
export interface SeriesTableDeps {
  readonly connection: DuckDBConnection;
  readonly appending: DuckDBConnection;
  readonly files: SegmentFiles;
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
  readonly #search: SeriesSearch;
  readonly #indexes = new Map<number, TagIndex>();
  readonly #columns = new Map<number, TagColumn>();
  isObsolete = false;
  readonly tagIds: ReadonlySet<number>;
  readonly #tags: readonly Column[];
  /** Largest number of series that may be copied into the table. */
  readonly #copiedMax: number;
  readonly #metricTagId: number | undefined;
  /** Values of tags that series without them have, by column ID. */
  readonly #implied: ReadonlyMap<number, string>;
  readonly #deps: SeriesTableDeps;

  private constructor(deps: SeriesTableDeps, name: string, table: Table) {
    this.#deps = deps;
    this.stored = name;
    this.#tags = tagsOf(table);
    this.#copiedMax = Math.min(COPIED_MAX, Math.floor(COPIED_CELLS / Math.max(this.#tags.length, 1)));
    this.#search = new SeriesSearch(this.#tags);
    this.#metricTagId = metricTagOf(table)?.id;
    this.#implied = impliedTags(table);
    this.tagIds = new Set(this.#tags.map((tag) => tag.id));
  }

  static async create(deps: SeriesTableDeps, name: string, table: Table): Promise<SeriesTable> {
    const series = new SeriesTable(deps, name, table);
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

  /** Reports whether there is a column for every tag, and the table has not copied too many series of files. */
  fits(table: Table, publishedCount: number): boolean {
    if (Math.min(publishedCount, this.count) - this.#filedTo > this.#copiedMax) return false;
    return tagsOf(table).every((tag) => this.tagIds.has(tag.id));
  }

  /**
   * Returns the series that have one of the values of each tag; undefined if there are too many to list, or `tagValues` is
   * empty.
   *
   * @param tagValues values by tag column ID
   */
  async matching(
    connection: DuckDBConnection,
    tagValues: ReadonlyMap<number, readonly string[]>,
  ): Promise<NamedSeries | undefined> {
    if (this.#filedTo > 0) return this.#search.matching(connection, this.relation, tagValues);
    const found = new Map<number, ReadonlyMap<number, string>>();
    for (const [tagId, values] of tagValues) {
      const withValue = (await this.#index(connection, tagId)).find(values);
      if (withValue !== undefined) found.set(tagId, withValue);
    }
    const [first, ...others] = found.values();
    if (first === undefined) return undefined;
    const sids = [...first.keys()].filter((sid) => others.every((other) => other.has(sid))).sort((a, b) => a - b);
    const values = Array.from(found, ([tagId, bySid]): [number, string[]] => {
      return [tagId, sids.map((sid) => bySid.get(sid) ?? '')];
    });
    return { sids, values: new Map(values) };
  }

  /**
   * Returns the metric numbers of all series with one of the requested names; undefined if the query does not name metrics.
   *
   * @param tagValues values by tag column ID
   */
  async metrics(
    connection: DuckDBConnection,
    tagValues: ReadonlyMap<number, readonly string[]>,
  ): Promise<readonly number[] | undefined> {
    const names = this.#metricTagId === undefined ? undefined : tagValues.get(this.#metricTagId);
    if (this.#metricTagId === undefined || names === undefined || names.length > METRICS_MAX) return undefined;
    if (this.#filedTo > 0) return this.#search.firstOf(connection, this.relation, this.#metricTagId, names);
    return (await this.#index(connection, this.#metricTagId)).firstOf(names);
  }

  /** Returns the values of a tag of all series; undefined if there are too many series to hold them. */
  async tagColumn(connection: DuckDBConnection, tagId: number): Promise<TagColumn | undefined> {
    if (this.#filedTo > 0) return undefined;
    const column = this.#columns.get(tagId) ?? new TagColumn(this.stored, tagId);
    this.#columns.set(tagId, column);
    try {
      await column.extendTo(connection, this.count);
    } catch (error) {
      // The column is incomplete: the next query builds a new one.
      this.#columns.delete(tagId);
      throw error;
    }
    return column;
  }

  async #index(connection: DuckDBConnection, tagId: number): Promise<TagIndex> {
    let index = this.#indexes.get(tagId);
    if (index === undefined) {
      index = new TagIndex(this.stored, tagId);
      this.#indexes.set(tagId, index);
    }
    try {
      await index.extendTo(connection, this.count);
    } catch (error) {
      // The index is incomplete: the next query builds a new one.
      this.#indexes.delete(tagId);
      throw error;
    }
    return index;
  }

  async load(files: readonly SeriesFile[]): Promise<void> {
    if (files.length === 0) return;
    const paths = files.map((file) => this.#deps.files.absolute(file.path));
    const end = Math.max(...files.map((file) => file.sidLast)) + 1;
    // A series must not be in both the files and the table.
    if (this.count === this.#filedTo && end > this.#copiedMax) {
      this.#filePaths.push(...paths);
      this.count = this.#filedTo = end;
      return;
    }
    await this.#deps.connection.run(
      `INSERT INTO ${this.stored} SELECT ${this.#filedColumns()} FROM ${this.#filesSql(paths)} ` +
        `WHERE sid >= ${this.count} ORDER BY sid`,
    );
    this.count = end;
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
