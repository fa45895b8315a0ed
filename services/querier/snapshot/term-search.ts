import { LRUCache } from 'lru-cache';

import type { Table } from '#shared/contracts/gen/common';
import type { LocalStore } from '#shared/segments/local-store';
import { termIndexOptions } from '#shared/term-index/options';
import { intersectRows } from '#shared/term-index/row-set';
import { TermIndex } from '#shared/term-index/term-index';

import type { TextFilter } from './binding.js';
import type { ManifestFile } from './segment-files.js';

/** Rows of a segment that a query reads, by number. */
export interface MatchingRows {
  /** Condition on `file_row_number`; undefined: all rows. */
  readonly sql: string | undefined;
  /** Number of selected rows; undefined: all. */
  readonly rowCount: number | undefined;
  /** Conditions of the query that all selected rows satisfy. */
  readonly exact: ReadonlySet<TextFilter>;
}

/** Selects every row. */
export const ALL_ROWS: MatchingRows = { sql: undefined, rowCount: undefined, exact: new Set() };

/** Selects no row. */
const NO_ROWS: MatchingRows = { sql: 'false', rowCount: 0, exact: new Set() };

/** Above this share of rows, an index that is not exact saves nothing. */
const SHARE_MAX = 0.5;
/** Runs of adjacent rows that are listed as such. */
const RUNS_MAX = 16;
/** Rows that are listed one by one, which lets the engine skip row groups; more are a bitmap. */
const LISTED_ROWS_MAX = 500;
/** Limits the SQL text of the bitmaps of a query. */
const SQL_BYTES_MAX = 32 * 1024 * 1024;

/** A segment to search. */
interface SearchedSegment extends ManifestFile {
  readonly rowCount: number;
}

/** Searches the term indexes of segments for the rows that a query reads. */
export class TermSearch {
  readonly #store: LocalStore;
  readonly #indexes: LRUCache<string, TermIndex>;

  /** @param cacheBytes memory for the directories of indexes. */
  constructor(store: LocalStore, cacheBytes: number) {
    this.#store = store;
    this.#indexes = new LRUCache({ maxSize: cacheBytes, sizeCalculation: ({ bytes }) => bytes });
  }

  /**
   * Returns the rows to read of each segment. The segments were verified.
   *
   * @throws `storage_unavailable` if an index cannot be read.
   */
  async select(
    segments: readonly SearchedSegment[],
    table: Table,
    texts: readonly TextFilter[],
  ): Promise<MatchingRows[]> {
    const indexed = table.columns.filter((column) => termIndexOptions(column) !== undefined);
    const ids = new Map(indexed.map(({ id, name }) => [name, id]));
    const searched = texts.filter(({ column, query }) => query !== undefined && ids.has(column));
    let sqlBytes = 0;
    const selections: MatchingRows[] = [];
    for (const segment of segments) {
      const selection =
        searched.length === 0 || sqlBytes > SQL_BYTES_MAX ? ALL_ROWS : await this.#rowsOf(segment, ids, searched);
      sqlBytes += selection.sql?.length ?? 0;
      selections.push(selection);
    }
    return selections;
  }

  async #rowsOf(
    segment: SearchedSegment,
    ids: ReadonlyMap<string, number>,
    texts: readonly TextFilter[],
  ): Promise<MatchingRows> {
    const index = await this.#indexOf(segment);
    try {
      return await this.#searched(index, segment, ids, texts);
    } finally {
      // Inserted again, since the directories that the search read count from now on.
      this.#indexes.delete(segment.path);
      this.#indexes.set(segment.path, index);
    }
  }

  async #searched(
    index: TermIndex,
    segment: SearchedSegment,
    ids: ReadonlyMap<string, number>,
    texts: readonly TextFilter[],
  ): Promise<MatchingRows> {
    const sets = [];
    const exact = new Set<TextFilter>();
    for (const text of texts) {
      const id = ids.get(text.column);
      if (id === undefined || text.query === undefined || !index.has(id)) continue;
      const set = await index.search(id, text.query);
      if (set.rows?.length === 0) return NO_ROWS;
      sets.push(set);
      if (set.isExact) exact.add(text);
    }
    const { rows } = intersectRows(sets);
    if (rows === undefined) return ALL_ROWS;
    if (rows.length === 0) return NO_ROWS;
    if (exact.size === 0 && rows.length > segment.rowCount * SHARE_MAX) return ALL_ROWS;
    return { sql: rowsSql(rows, segment.rowCount), rowCount: rows.length, exact };
  }

  async #indexOf({ path, bytes }: SearchedSegment): Promise<TermIndex> {
    const known = this.#indexes.get(path);
    if (known !== undefined) return known;
    const index = await TermIndex.open(() => this.#store.open(path), bytes);
    this.#indexes.set(path, index);
    return index;
  }
}

/** Returns a condition on the number of a row in its file. @param rows ascending. */
function rowsSql(rows: Uint32Array, rowCount: number): string {
  const runs = runsOf(rows);
  if (runs !== undefined) {
    const conditions = runs.map(([from, to]) => `file_row_number BETWEEN ${from} AND ${to}`);
    return `(${conditions.join(' OR ')})`;
  }
  if (rows.length <= LISTED_ROWS_MAX) return `file_row_number IN (${rows.join(', ')})`;
  const bitmap = Buffer.alloc((rowCount + 7) >> 3);
  for (const row of rows) bitmap[row >> 3] |= 0x80 >> (row & 7);
  return `get_bit(from_base64('${bitmap.toString('base64')}')::BIT, file_row_number::INTEGER) = 1`;
}

/** Returns the first and last rows of the runs; undefined if there are many. */
function runsOf(rows: Uint32Array): [number, number][] | undefined {
  const runs: [number, number][] = [];
  for (const row of rows) {
    const last = runs.at(-1);
    if (last?.[1] === row - 1) last[1] = row;
    else if (runs.push([row, row]) > RUNS_MAX) return undefined;
  }
  return runs;
}
