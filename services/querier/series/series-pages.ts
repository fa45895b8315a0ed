import duckdb from '@duckdb/node-bindings';

import type { Column, SeriesFile } from '#shared/contracts/gen/common';
import type { DuckDBConnection, DuckDBDataChunk } from '#shared/duckdb/engine';
import { quoteText } from '#shared/duckdb/quote';
import { firstRow } from '#shared/duckdb/read';
import { bytesSql, textAt } from '#shared/duckdb/text-bytes';
import { invariant } from '#shared/errors/invariant';
import { dataType } from '#shared/schema/data-type';
import { SID_FIELD_ID, TSID_FIELD_ID } from '#shared/schema/segment-columns';

/** Series of one question: a result is in memory whole. As many as the row groups of series files have. */
const PAGE_SERIES = 122_880;
/** A page of fewer, or of more tags, is read by one question row by row. */
const BY_TAG_SERIES_MIN = 8_192;
const BY_TAG_TAGS_MAX = 64;
/** Cells of such a page: each takes 16 bytes twice, also where a series does not have the tag. */
const PAGE_CELLS = 4 * 1024 * 1024;
/** But for so few series it is not worth to ask. */
const PAGE_SERIES_MIN = 512;
/** What files have besides. */
const NO_TAGS = `${SID_FIELD_ID}, ${TSID_FIELD_ID}`;

/** Some series of a file. */
export interface SeriesPage {
  readonly file: SeriesFile;
  /** Series `[from, to)`. */
  readonly from: number;
  readonly to: number;
}

/**
 * The pages of files, which are ascending and have no gaps between them.
 *
 * @param from series below are left out.
 * @param tagCount how many tags are read: of more, a page has fewer series.
 */
export function* pagesOf(files: readonly SeriesFile[], from: number, tagCount: number): Iterable<SeriesPage> {
  const length =
    tagCount <= BY_TAG_TAGS_MAX ? PAGE_SERIES : Math.max(Math.floor(PAGE_CELLS / tagCount), PAGE_SERIES_MIN);
  for (const file of files) {
    for (let first = file.sidFirst; first <= file.sidLast; first += length) {
      const to = Math.min(first + length, file.sidLast + 1);
      if (to > from) yield { file, from: Math.max(first, from), to };
    }
  }
}

/** Whether to ask for each tag by itself: a text that many series have is made once then, not for each of them. */
export function isReadByTag({ from, to }: SeriesPage, tags: readonly Column[]): boolean {
  return to - from >= BY_TAG_SERIES_MIN && tags.length <= BY_TAG_TAGS_MAX;
}

export interface SeriesPagesOptions {
  readonly connection: DuckDBConnection;
  readonly absolute: (path: string) => string;
}

/** Reads the series of pages from their files. */
export class SeriesPages {
  readonly #options: SeriesPagesOptions;

  constructor(options: SeriesPagesOptions) {
    this.#options = options;
  }

  /** Ids of the columns that files have of tags. */
  async tagIds(files: readonly SeriesFile[]): Promise<number[]> {
    const paths = files.map(({ path }) => quoteText(this.#options.absolute(path))).join(', ');
    const ids = `SELECT DISTINCT field_id FROM parquet_schema([${paths}]) WHERE field_id NOT IN (${NO_TAGS})`;
    const result = await this.#options.connection.run(ids);
    return (await result.getRows()).map(([id]) => Number(id));
  }

  /** All tags of the series of a page for `textAt`, behind the number of the series. */
  async *rows(page: SeriesPage, tags: readonly Column[]): AsyncIterable<DuckDBDataChunk> {
    const columns = ['sid', ...tags.map((tag) => bytesSql(textOf(tag)))].join(', ');
    yield* chunksOf(this.#options.connection, `SELECT ${columns} FROM ${this.#source(page, tags)} ORDER BY sid`);
  }

  /**
   * The tags of the series of a page, one after the other.
   *
   * @param names give the texts of each tag their numbers.
   * @returns for each tag, by place of the series: the number of its text and 1, or 0 if it has none.
   */
  async byTag(page: SeriesPage, tags: readonly Column[], names: readonly Numbered[]): Promise<Int32Array[]> {
    const { connection } = this.#options;
    const length = page.to - page.from;
    const [count] = await firstRow(connection, `SELECT count(*) FROM ${this.#source(page, [])}`);
    invariant(Number(count) === length, `series file ${page.file.path} has a gap`);
    const found = tags.map(() => new Int32Array(length));
    for (const [i, tag] of tags.entries()) {
      const source = `${this.#source(page, [tag])} AND f${tag.id} IS NOT NULL`;
      const lists = `SELECT ${textOf(tag)} AS text, list((sid - ${page.from})::UINTEGER) AS l FROM ${source} GROUP BY text`;
      const sql = `SELECT ${bytesSql('text')}, l FROM (${lists})`;
      for await (const chunk of chunksOf(connection, sql)) scatter(chunk, names[i], found[i]);
    }
    return found;
  }

  /** `<file> WHERE <series of the page>`. */
  #source({ file, from, to }: SeriesPage, tags: readonly Column[]): string {
    const schema = [
      `${SID_FIELD_ID}: {name: 'sid', type: 'UINTEGER', default_value: NULL}`,
      ...tags.map(
        (tag) => `${tag.id}: {name: 'f${tag.id}', type: '${dataType(tag.type).duckdb}', default_value: NULL}`,
      ),
    ].join(', ');
    const path = quoteText(this.#options.absolute(file.path));
    return `read_parquet(${path}, schema = MAP {${schema}}) WHERE sid >= ${from} AND sid < ${to}`;
  }
}

/** What gives texts their numbers. */
interface Numbered {
  numbered(text: string): number;
}

/** Writes the number of each text, and 1, to the places in the list behind it. */
function scatter(chunk: DuckDBDataChunk, names: Numbered, target: Int32Array): void {
  const texts = chunk.getColumnVector(0);
  const lists = duckdb.data_chunk_get_vector(chunk.chunk, 1);
  // Where each list begins and how long it is, as integers of 64 bits.
  const entries = wordsOf(duckdb.vector_get_data(lists, chunk.rowCount * 16));
  const length = duckdb.list_vector_get_size(lists);
  const places = wordsOf(duckdb.vector_get_data(duckdb.list_vector_get_child(lists), length * 4));
  for (let row = 0; row < chunk.rowCount; row++) {
    const number = names.numbered(textAt(texts, row) ?? '') + 1;
    const begin = entries[4 * row];
    const end = begin + entries[4 * row + 2];
    for (let at = begin; at < end; at++) target[places[at]] = number;
  }
}

function textOf(tag: Column): string {
  return `f${tag.id}::VARCHAR`;
}

async function* chunksOf(connection: DuckDBConnection, sql: string): AsyncIterable<DuckDBDataChunk> {
  const result = await connection.run(sql);
  for (;;) {
    const chunk = await result.fetchChunk();
    if (chunk === null || chunk.rowCount === 0) return;
    yield chunk;
  }
}

/** Copied: the engine's memory goes with the chunk. */
function wordsOf(bytes: Uint8Array): Uint32Array {
  return new Uint32Array(bytes.slice().buffer);
}
