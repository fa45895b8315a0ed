import type { OpenFile } from '#shared/fs/file-system';

import { BloomReader, readBloomDirectory, type BloomDirectory } from './bloom.js';
import { partReader, readIndexes, type IndexPart, type StoredColumnIndex } from './index-file.js';
import { InvertedReader, readInvertedDirectory, type InvertedDirectory } from './inverted-reader.js';
import type { RangeReader } from './range-reader.js';
import { ANY_ROW, type RowSet } from './row-set.js';
import type { TextQuery } from './text-query.js';

/** The term indexes of a segment. Directories stay in memory; the file is open only during searches. */
export class TermIndex {
  readonly #open: () => Promise<OpenFile>;
  readonly #columns: readonly StoredColumnIndex[];
  readonly #directories = new Map<IndexPart, BloomDirectory | InvertedDirectory>();

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
    for (const directory of this.#directories.values()) bytes += directory.bytes;
    return bytes;
  }

  /** Returns whether a column is indexed. */
  has(columnId: number): boolean {
    return this.#columns.some((column) => column.columnId === columnId);
  }

  /**
   * Returns rows of the file outside of which no text of a column matches the query.
   *
   * @param check throws when the search is to end; called before each read.
   */
  async search(columnId: number, query: TextQuery, check: () => void = () => undefined): Promise<RowSet> {
    const column = this.#columns.find((it) => it.columnId === columnId);
    if (column === undefined) return ANY_ROW;
    const file = await this.#open();
    try {
      const sets: RowSet[] = [];
      for (const part of column.parts) {
        const reader = partReader(file, part);
        const source: RangeReader = {
          read: (position, length) => {
            check();
            return reader.read(position, length);
          },
        };
        sets.push(await this.#searchPart(column.kind, part, query, source));
      }
      return joined(sets, column.parts);
    } finally {
      await file.close();
    }
  }

  async #searchPart(
    kind: StoredColumnIndex['kind'],
    part: IndexPart,
    query: TextQuery,
    source: RangeReader,
  ): Promise<RowSet> {
    let directory = this.#directories.get(part);
    if (directory === undefined) {
      const rowCount = part.rowTo - part.rowFrom;
      directory = await (kind === 'bloom' ? readBloomDirectory(source, rowCount) : readInvertedDirectory(source));
      this.#directories.set(part, directory);
    }
    const reader =
      directory.kind === 'bloom' ? new BloomReader(source, directory) : new InvertedReader(source, directory);
    return reader.search(query);
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
