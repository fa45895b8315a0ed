import type { Column, SeriesFile, Table } from '#shared/contracts/gen/common';
import type { ScanPart } from '#shared/contracts/gen/ingester';
import { ChunkWriter, CHUNK_ROWS, type ChunkColumn } from '#shared/duckdb/chunk-writer';
import type { DuckDBConnection } from '#shared/duckdb/engine';
import { quoteText } from '#shared/duckdb/quote';
import { invariant } from '#shared/errors/invariant';
import { decodeDefinitions, decodeTags, type SeriesDefinition } from '#shared/rowbatch/definitions';
import { textColumn } from '#shared/rowbatch/text-column';
import { dataType } from '#shared/schema/data-type';
import { metricTagOf } from '#shared/schema/metric-table';
import { SID_FIELD_ID } from '#shared/schema/segment-columns';
import { tagsOf } from '#shared/schema/table-schema';

import type { SeriesRows } from './rows-layout.js';
import type { SegmentFiles } from './segment-files.js';
import { SeriesSearch, type NamedSeries } from './series-search.js';
import { TagIndex } from './tag-index.js';

/** Metrics above which they are not named one by one. */
const METRICS_MAX = 64;
/** Series that are copied into memory, where each takes hundreds of bytes; more are read from their files. */
export const COPIED_MAX = 1 << 18;
/** Their tags, each of which takes ten bytes, also where a series does not have it. */
const COPIED_CELLS = 1 << 24;

export interface SeriesTableDeps {
  readonly connection: DuckDBConnection;
  readonly appending: DuckDBConnection;
  readonly files: SegmentFiles;
}

/**
 * The series of one region for the query instance: `(sid, f<tag id> ..)`, numbers ascending without gaps. They are a table,
 * or if there are many, files and a table of those that are in none. Rows are only added; a table that is widened by tags, or
 * whose owner has begun a new life, gets a new one.
 */
export class SeriesTable implements SeriesRows {
  /** The table. */
  readonly stored: string;
  /** Series below this number are in it. */
  count = 0;
  pins = 0;
  /** Series below this number are in files and not in the table. */
  #filedTo = 0;
  readonly #filePaths: string[] = [];
  readonly #search: SeriesSearch;
  readonly #indexes = new Map<number, TagIndex>();
  isObsolete = false;
  readonly tagIds: ReadonlySet<number>;
  readonly #tags: readonly Column[];
  /** Series that may be copied. */
  readonly #copiedMax: number;
  readonly #metricTagId: number | undefined;
  readonly #deps: SeriesTableDeps;

  private constructor(deps: SeriesTableDeps, name: string, table: Table) {
    this.#deps = deps;
    this.stored = name;
    this.#tags = tagsOf(table);
    this.#copiedMax = Math.min(COPIED_MAX, Math.floor(COPIED_CELLS / Math.max(this.#tags.length, 1)));
    this.#search = new SeriesSearch(this.#tags);
    this.#metricTagId = metricTagOf(table)?.id;
    this.tagIds = new Set(this.#tags.map((tag) => tag.id));
  }

  static async create(deps: SeriesTableDeps, name: string, table: Table): Promise<SeriesTable> {
    const series = new SeriesTable(deps, name, table);
    const tags = series.#tags.map((tag) => `f${tag.id} ${dataType(tag.type).duckdb}`);
    await deps.connection.run(`CREATE TABLE ${name} (${['sid UINTEGER', ...tags].join(', ')})`);
    return series;
  }

  /** SQL of all series, to be read from. */
  get relation(): string {
    if (this.#filedTo === 0) return this.stored;
    const columns = ['sid', ...this.#tags.map(({ id }) => `f${id}`)].join(', ');
    return `(SELECT ${columns} FROM ${this.#filesSql(this.#filePaths)} UNION ALL SELECT ${columns} FROM ${this.stored})`;
  }

  /** Whether it has a column for every tag of the table, and no more of what files have than may be. */
  fits(table: Table, publishedCount: number): boolean {
    if (Math.min(publishedCount, this.count) - this.#filedTo > this.#copiedMax) return false;
    return tagsOf(table).every((tag) => this.tagIds.has(tag.id));
  }

  /**
   * The series whose tags have one of the given values each; undefined if they are too many to be named, or nothing is
   * asked.
   *
   * @param tagValues tag column id -> values.
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
   * Metric numbers of all series that have one of the wanted names; undefined if the query does not name its metrics.
   *
   * @param tagValues as in `matching`.
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

  async #index(connection: DuckDBConnection, tagId: number): Promise<TagIndex> {
    let index = this.#indexes.get(tagId);
    if (index === undefined) {
      index = new TagIndex(this.stored, tagId);
      this.#indexes.set(tagId, index);
    }
    try {
      await index.reach(connection, this.count);
    } catch (error) {
      // Half filled: the next question makes a new one.
      this.#indexes.delete(tagId);
      throw error;
    }
    return index;
  }

  async load(files: readonly SeriesFile[]): Promise<void> {
    if (files.length === 0) return;
    const paths = files.map((file) => this.#deps.files.absolute(file.path));
    const end = Math.max(...files.map((file) => file.sidLast)) + 1;
    // None of the table's may be in files too.
    if (this.count === this.#filedTo && end > this.#copiedMax) {
      this.#filePaths.push(...paths);
      this.count = this.#filedTo = end;
      return;
    }
    await this.#deps.connection.run(
      `INSERT INTO ${this.stored} SELECT * FROM ${this.#filesSql(paths)} WHERE sid >= ${this.count} ORDER BY sid`,
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
    invariant(part.seriesFrom <= this.count, 'series of a scan begin behind those that are known');
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
        const column = textColumn(
          tag,
          rows.map((values) => values.get(tag.id)),
        );
        return column === undefined ? { kind: 'null' } : { kind: 'column', column };
      }),
    ];
  }
}
