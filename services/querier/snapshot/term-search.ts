import { LRUCache } from 'lru-cache';

import { checkCall, type Call } from '#shared/contracts/call';
import type { Table } from '#shared/contracts/gen/common';
import type { LocalStore } from '#shared/segments/local-store';
import { termIndexOptions } from '#shared/term-index/options';
import { intersectRows } from '#shared/term-index/row-set';
import { TermIndex } from '#shared/term-index/term-index';

import type { TextFilter } from './binding.js';
import type { ManifestFile } from './segment-files.js';

/** Rows of a segment that a query reads, by number. */
export interface MatchingRows {
  /** Conditions on `file_row_number` of which one selects a row, never two; undefined: all rows. */
  readonly conditions: readonly string[] | undefined;
  /** Number of selected rows; undefined: all. */
  readonly rowCount: number | undefined;
  /** Conditions of the query that all selected rows satisfy. */
  readonly exact: ReadonlySet<TextFilter>;
}

/** Selects every row. */
export const ALL_ROWS: MatchingRows = { conditions: undefined, rowCount: undefined, exact: new Set() };

/** Selects no row. */
const NO_ROWS: MatchingRows = { conditions: [], rowCount: 0, exact: new Set() };

/** Above this share of rows, an index that is not exact saves nothing. */
const SHARE_MAX = 0.5;
/** Rows that are listed one by one: the engine skips row groups without any. */
const LISTED_ROWS_MAX = 500;
/**
 * Runs of adjacent rows of a segment that are read by a SELECT each: the engine skips the row groups outside of a range, but not
 * those outside of several. Planning another SELECT takes as long as looking at a twelfth of the row groups.
 */
const RUNS_MAX = 12;
/** Runs of a query. */
const QUERY_RUNS_MAX = 128;
/** Limits the SQL text of the bitmaps of a query. */
const SQL_BYTES_MAX = 32 * 1024 * 1024;

/** Segments that a query searches at the same time. */
const SEARCHES_MAX = 8;

/** A segment to search. */
interface SearchedSegment extends ManifestFile {
  readonly rowCount: number;
}

/** What is searched for. */
interface Search {
  /** IDs of indexed columns by name. */
  readonly ids: ReadonlyMap<string, number>;
  readonly texts: readonly TextFilter[];
  /** Throws when the search is to end. */
  readonly check: () => void;
  /** What the conditions of the query may still take. */
  readonly budget: { runs: number; bytes: number };
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
   * @throws `storage_unavailable` if an index cannot be read; the call's error.
   */
  async select(
    segments: readonly SearchedSegment[],
    table: Table,
    texts: readonly TextFilter[],
    call: Call,
  ): Promise<MatchingRows[]> {
    const indexed = table.columns.filter((column) => termIndexOptions(column) !== undefined);
    const ids = new Map(indexed.map(({ id, name }) => [name, id]));
    const searched = texts.filter(({ column, query }) => query !== undefined && ids.has(column));
    const selections = segments.map(() => ALL_ROWS);
    if (searched.length === 0) return selections;
    const budget = { runs: QUERY_RUNS_MAX, bytes: SQL_BYTES_MAX };
    const search: Search = { ids, texts: searched, check: () => checkCall(call), budget };
    const rest = segments.entries();
    const searchRest = async (): Promise<void> => {
      // All share the iterator, so that each segment is searched once.
      for (const [i, segment] of rest) {
        if (budget.bytes < 0) return;
        selections[i] = await this.#rowsOf(segment, search);
      }
    };
    await Promise.all(Array.from({ length: Math.min(SEARCHES_MAX, segments.length) }, searchRest));
    return selections;
  }

  async #rowsOf(segment: SearchedSegment, search: Search): Promise<MatchingRows> {
    const index = await this.#indexOf(segment);
    try {
      return await searchSegment(index, segment, search);
    } finally {
      // Inserted again, since the directories that the search read count from now on.
      this.#indexes.delete(segment.path);
      this.#indexes.set(segment.path, index);
    }
  }

  async #indexOf({ path, bytes }: SearchedSegment): Promise<TermIndex> {
    const known = this.#indexes.get(path);
    if (known !== undefined) return known;
    const index = await TermIndex.open(() => this.#store.open(path), bytes);
    this.#indexes.set(path, index);
    return index;
  }
}

async function searchSegment(
  index: TermIndex,
  { rowCount }: SearchedSegment,
  { ids, texts, check, budget }: Search,
): Promise<MatchingRows> {
  const sets = [];
  const exact = new Set<TextFilter>();
  for (const text of texts) {
    const id = ids.get(text.column);
    if (id === undefined || text.query === undefined || !index.has(id)) continue;
    const set = await index.search(id, text.query, check);
    if (set.rows?.length === 0) return NO_ROWS;
    sets.push(set);
    if (set.isExact) exact.add(text);
  }
  const { rows } = intersectRows(sets);
  if (rows === undefined) return ALL_ROWS;
  if (rows.length === 0) return NO_ROWS;
  if (exact.size === 0 && rows.length > rowCount * SHARE_MAX) return ALL_ROWS;
  const conditions = conditionsOn(rows, rowCount, Math.min(RUNS_MAX, budget.runs));
  budget.runs -= conditions.length;
  budget.bytes -= conditions.reduce((sum, { length }) => sum + length, 0);
  return { conditions, rowCount: rows.length, exact };
}

/** Returns conditions of which one is true for each of the rows. @param rows ascending. */
function conditionsOn(rows: Uint32Array, rowCount: number, runsMax: number): string[] {
  if (rows.length <= LISTED_ROWS_MAX) return [`file_row_number IN (${rows.join(', ')})`];
  const runs = runsOf(rows, runsMax);
  if (runs !== undefined) return runs.map(([from, to]) => `file_row_number BETWEEN ${from} AND ${to}`);
  const bitmap = Buffer.alloc((rowCount + 7) >> 3);
  for (const row of rows) bitmap[row >> 3] |= 0x80 >> (row & 7);
  return [`get_bit(from_base64('${bitmap.toString('base64')}')::BIT, file_row_number::INTEGER) = 1`];
}

/** Returns the first and last rows of the runs; undefined if there are more than `runsMax`. */
function runsOf(rows: Uint32Array, runsMax: number): [number, number][] | undefined {
  const runs: [number, number][] = [];
  for (const row of rows) {
    const last = runs.at(-1);
    if (last?.[1] === row - 1) last[1] = row;
    else if (runs.push([row, row]) > runsMax) return undefined;
  }
  return runs;
}
