import duckdb from '@duckdb/node-bindings';

import type { Column, SeriesFile } from '#shared/contracts/gen/common';
import type { DuckDBConnection, DuckDBDataChunk } from '#shared/duckdb/engine';
import { quoteText } from '#shared/duckdb/quote';
import { firstRow } from '#shared/duckdb/read';
import { bytesSql, textAt } from '#shared/duckdb/text-bytes';
import { invariant } from '#shared/errors/invariant';
import { dataType } from '#shared/schema/data-type';
import { SID_FIELD_ID, TSID_FIELD_ID } from '#shared/schema/segment-columns';

/** Series per query, because a result is held in memory as a whole. Equals the row group size of series files. */
const PAGE_SERIES = 122_880;
/** A page with fewer series or more tags is read row by row, in one query. */
const BY_TAG_SERIES_MIN = 8_192;
const BY_TAG_TAGS_MAX = 64;
/** Cells of such a page. Each cell takes 32 bytes, even if the series does not have the tag. */
const PAGE_CELLS = 4 * 1024 * 1024;
/** Smallest page, so that the overhead of a query stays small. */
const PAGE_SERIES_MIN = 512;
/** IDs of the columns that are not tags. */
const NO_TAGS = `${SID_FIELD_ID}, ${TSID_FIELD_ID}`;

/** A range of the series of a file. */
export interface SeriesPage {
  readonly file: SeriesFile;
  /** The range is `[from, to)`. */
  readonly from: number;
  readonly to: number;
}

/**
 * Splits files into pages. The files are ascending and contiguous.
 *
 * @param from skips the series below it
 * @param tagCount number of tags that are read: pages of tables with many tags have fewer series
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

/** Reports whether each tag is read by its own query, which creates the text of a value once and not once per series. */
export function isReadByTag({ from, to }: SeriesPage, tags: readonly Column[]): boolean {
  return to - from >= BY_TAG_SERIES_MIN && tags.length <= BY_TAG_TAGS_MAX;
}

/** Collaborators of a `SeriesPages`. */
export interface SeriesPagesOptions {
  readonly connection: DuckDBConnection;
  readonly absolute: (path: string) => string;
}

/** Reads the series of pages from series files. */
export class SeriesPages {
  readonly #options: SeriesPagesOptions;

  constructor(options: SeriesPagesOptions) {
    this.#options = options;
  }

  /** Returns the column IDs of the tags in the files. */
  async tagIds(files: readonly SeriesFile[]): Promise<number[]> {
    const paths = files.map(({ path }) => quoteText(this.#options.absolute(path))).join(', ');
    const ids = `SELECT DISTINCT field_id FROM parquet_schema([${paths}]) WHERE field_id NOT IN (${NO_TAGS})`;
    const result = await this.#options.connection.run(ids);
    return (await result.getRows()).map(([id]) => Number(id));
  }

  /** Yields the series of a page: the series number, then the tags for `textAt`. */
  async *rows(page: SeriesPage, tags: readonly Column[]): AsyncIterable<DuckDBDataChunk> {
    const columns = ['sid', ...tags.map((tag) => bytesSql(textOf(tag)))].join(', ');
    yield* chunksOf(this.#options.connection, `SELECT ${columns} FROM ${this.#source(page, tags)} ORDER BY sid`);
  }

  /**
   * Reads the tags of a page, one query per tag.
   *
   * @param names number the values of each tag
   * @returns for each tag, by position of the series in the page: the value number plus 1, or 0 if the series lacks the tag
   */
  async byTag(page: SeriesPage, tags: readonly Column[], names: readonly TextNumbering[]): Promise<Int32Array[]> {
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

  /** SQL `<file> WHERE <series of the page>`. */
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

/** Assigns numbers to texts. */
interface TextNumbering {
  numberFor(text: string): number;
}

/** Writes the number of each text, plus 1, to the positions in the list that follows it. */
function scatter(chunk: DuckDBDataChunk, names: TextNumbering, target: Int32Array): void {
  const texts = chunk.getColumnVector(0);
  const lists = duckdb.data_chunk_get_vector(chunk.chunk, 1);
  // Offset and length of each list, as 64-bit integers.
  const entries = wordsOf(duckdb.vector_get_data(lists, chunk.rowCount * 16));
  const length = duckdb.list_vector_get_size(lists);
  const positions = wordsOf(duckdb.vector_get_data(duckdb.list_vector_get_child(lists), length * 4));
  for (let row = 0; row < chunk.rowCount; row++) {
    const number = names.numberFor(textAt(texts, row) ?? '') + 1;
    const begin = entries[4 * row];
    const end = begin + entries[4 * row + 2];
    for (let at = begin; at < end; at++) target[positions[at]] = number;
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

/** Copies, because the engine frees the memory with the chunk. */
function wordsOf(bytes: Uint8Array): Uint32Array {
  return new Uint32Array(bytes.slice().buffer);
}
