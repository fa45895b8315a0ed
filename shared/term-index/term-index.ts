import type { OpenFile } from '#shared/fs/file-system';

import { BloomReader } from './bloom.js';
import { partReader, readIndexes, type StoredColumnIndex } from './index-file.js';
import { InvertedReader } from './inverted-reader.js';
import type { RangeReader } from './range-reader.js';
import { ANY_ROW, type RowSet } from './row-set.js';
import type { TextQuery } from './text-query.js';

type PartIndex = Pick<BloomReader | InvertedReader, 'search' | 'bytes'>;

/** The term indexes of a segment. Directories stay in memory; the file is open only during searches. */
export class TermIndex {
  readonly #open: () => Promise<OpenFile>;
  readonly #columns: readonly StoredColumnIndex[];
  readonly #parts = new Map<string, PartIndex>();
  /** The file while a search runs. */
  #file: OpenFile | undefined;
  /** Searches run one after the other. */
  #last: Promise<unknown> = Promise.resolve();

  private constructor(open: () => Promise<OpenFile>, columns: readonly StoredColumnIndex[]) {
    this.#open = open;
    this.#columns = columns;
  }

  /**
   * Reads which columns of a file are indexed.
   *
   * @param open opens the file; called again for each search.
   * @param bytes size of the file.
   */
  static async open(open: () => Promise<OpenFile>, bytes: number): Promise<TermIndex> {
    const file = await open();
    try {
      return new TermIndex(open, await readIndexes(file, bytes));
    } finally {
      await file.close();
    }
  }

  /** Approximate size in memory. */
  get bytes(): number {
    let bytes = 512;
    for (const part of this.#parts.values()) bytes += part.bytes;
    return bytes;
  }

  /** Returns whether a column is indexed. */
  has(columnId: number): boolean {
    return this.#columns.some((column) => column.columnId === columnId);
  }

  /** Returns rows of the file outside of which no text of a column matches the query. */
  search(columnId: number, query: TextQuery): Promise<RowSet> {
    const column = this.#columns.find((it) => it.columnId === columnId);
    if (column === undefined) return Promise.resolve(ANY_ROW);
    const found = this.#last.then(() => this.#search(column, query));
    this.#last = found.catch(() => undefined);
    return found;
  }

  async #search({ columnId, kind, parts }: StoredColumnIndex, query: TextQuery): Promise<RowSet> {
    this.#file = await this.#open();
    try {
      const sets: RowSet[] = [];
      for (const [i, part] of parts.entries()) {
        const key = `${columnId}/${i}`;
        let index = this.#parts.get(key);
        if (index === undefined) {
          const source: RangeReader = { read: (at, length) => partReader(this.#opened(), part).read(at, length) };
          const rowCount = part.rowTo - part.rowFrom;
          index = await (kind === 'bloom' ? BloomReader.open(source, rowCount) : InvertedReader.open(source));
          this.#parts.set(key, index);
        }
        sets.push(await index.search(query));
      }
      return joined(sets, parts);
    } finally {
      const file = this.#file;
      this.#file = undefined;
      await file.close();
    }
  }

  #opened(): OpenFile {
    if (this.#file === undefined) throw new TypeError('a term index is read outside of a search');
    return this.#file;
  }
}

/** Joins the rows of the parts, which are numbered from the beginning of each. */
function joined(sets: readonly RowSet[], parts: StoredColumnIndex['parts']): RowSet {
  if (sets.length === 1) return sets[0];
  if (sets.every(({ rows }) => rows === undefined)) return ANY_ROW;
  const lengths = sets.map(({ rows }, i) => rows?.length ?? parts[i].rowTo - parts[i].rowFrom);
  const rows = new Uint32Array(lengths.reduce((sum, length) => sum + length, 0));
  let at = 0;
  for (const [i, set] of sets.entries()) {
    const { rowFrom } = parts[i];
    for (let j = 0; j < lengths[i]; j++) rows[at++] = rowFrom + (set.rows === undefined ? j : set.rows[j]);
  }
  return { rows, isExact: sets.every(({ isExact }) => isExact) };
}
