import { ByteReader } from '#shared/bytes/varint';

import type { RangeReader } from './range-reader.js';
import { ANY_ROW, intersectRows, NO_ROW, uniteRows, type RowSet } from './row-set.js';
import { TermScanner } from './term-scanner.js';
import { termsOf, type Needle, type TextQuery } from './text-query.js';

/**
 * Bloom filters of the terms in blocks of rows.
 *
 *     u32 rows per block   u32 blocks   u32 cells per filter (a power of two)   u32 flags
 *     cell 0 of each block's filter, cell 1 of each block's filter, ..
 *
 * A filter is split into cells of 32 bytes; a term sets eight bits of one cell (the filter of Parquet). Equal cells of all
 * filters are adjacent, so that a search reads one range of the file for each term.
 */
const HEADER_BYTES = 16;
const CELL_WORDS = 8;
const CELL_BYTES = 32;
const SALTS = [0x47b6137b, 0x44974d91, 0x8824ad5b, 0xa2b7289d, 0x705495c7, 0x2df1424b, 0x9efc4947, 0x5c6bfb31];

const CASE_SENSITIVE = 1;
const FOLDING_TO_ASCII = 2;

/** Bits of the bitmap by which distinct terms of a block are counted. */
const COUNTER_BITS = 1 << 20;
/** Most bits that a term takes: a lower rate of false positives is not reached. */
const BITS_PER_TERM_MAX = 64;
/** Most cells of a filter: 8 MiB for a block. */
const CELLS_MAX = 1 << 18;
/** Size of all filters of a segment; if they would be larger, the largest are folded to half their size. */
const SECTION_BYTES_MAX = 64 * 1024 * 1024;

/** Options of a filter. */
export interface BloomOptions {
  readonly blockRows: number;
  /** Share of blocks without a term that a search for it reads, above 0 and below 1. */
  readonly falsePositiveRate: number;
  readonly isCaseSensitive: boolean;
}

/** Builds the filters of a segment's column, row by row. */
export class BloomBuilder {
  readonly #options: BloomOptions;
  readonly #scanner: TermScanner;
  readonly #bitsPerTerm: number;
  readonly #filters: Uint32Array[] = [];
  /** Size of the largest filter. */
  #filterWords = CELL_WORDS;
  readonly #counter = new Uint8Array(COUNTER_BITS >> 3);
  /** Hashes of the block's terms, low and high alternating. */
  #hashes = new Uint32Array(1 << 16);
  #hashCount = 0;
  #rows = 0;

  constructor(options: BloomOptions) {
    this.#options = options;
    this.#scanner = new TermScanner(!options.isCaseSensitive);
    const bits = -8 / Math.log1p(-(options.falsePositiveRate ** (1 / 8)));
    this.#bitsPerTerm = Math.min(BITS_PER_TERM_MAX, bits);
  }

  /** Adds a row's text in UTF-8; undefined if it is null. */
  add(text: Uint8Array | undefined): void {
    if (text !== undefined) this.#addTerms(text);
    if (++this.#rows === this.#options.blockRows) this.#endBlock();
  }

  /** Returns the section of the file. */
  finish(): Uint8Array<ArrayBuffer> {
    if (this.#rows > 0) this.#endBlock();
    const blocks = this.#filters.length;
    const words = this.#filterWords;
    const section = new Uint8Array(HEADER_BYTES + blocks * words * 4);
    const { isCaseSensitive, blockRows } = this.#options;
    const flags = (isCaseSensitive ? CASE_SENSITIVE : 0) | (this.#scanner.hasFoldingToAscii ? FOLDING_TO_ASCII : 0);
    const view = new DataView(section.buffer);
    for (const [i, value] of [blockRows, blocks, words / CELL_WORDS, flags].entries()) {
      view.setUint32(i * 4, value, true);
    }
    const target = new Uint32Array(section.buffer, HEADER_BYTES);
    for (const [block, filter] of this.#filters.entries()) {
      for (let word = 0; word < words; word += CELL_WORDS) {
        // A smaller filter is repeated.
        const from = word % filter.length;
        target.set(filter.subarray(from, from + CELL_WORDS), word * blocks + block * CELL_WORDS);
      }
    }
    return section;
  }

  #addTerms(text: Uint8Array): void {
    const scanner = this.#scanner;
    scanner.scan(text, 0, text.length);
    const { count, low, high } = scanner;
    if ((this.#hashCount + count) * 2 > this.#hashes.length) this.#grow(this.#hashCount + count);
    const hashes = this.#hashes;
    let at = this.#hashCount * 2;
    for (let i = 0; i < count; i++) {
      hashes[at++] = low[i];
      hashes[at++] = high[i];
    }
    this.#hashCount += count;
  }

  #grow(count: number): void {
    const grown = new Uint32Array(2 ** Math.ceil(Math.log2(count * 2)));
    grown.set(this.#hashes.subarray(0, this.#hashCount * 2));
    this.#hashes = grown;
  }

  #endBlock(): void {
    const cells = this.#cellsOf(this.#distinctTerms());
    const filter = new Uint32Array(cells * CELL_WORDS);
    const hashes = this.#hashes;
    for (let i = 0; i < this.#hashCount * 2; i += 2) {
      const cell = (hashes[i] & (cells - 1)) * CELL_WORDS;
      const key = hashes[i + 1];
      for (let word = 0; word < CELL_WORDS; word++) filter[cell + word] |= 1 << (Math.imul(key, SALTS[word]) >>> 27);
    }
    this.#filters.push(filter);
    this.#filterWords = Math.max(this.#filterWords, filter.length);
    this.#hashCount = 0;
    this.#rows = 0;
    while (this.#filters.length * this.#filterWords * 4 > SECTION_BYTES_MAX && this.#filterWords > CELL_WORDS) {
      this.#fold();
    }
  }

  /** Halves the largest filters. */
  #fold(): void {
    const words = this.#filterWords / 2;
    for (const [i, filter] of this.#filters.entries()) {
      if (filter.length <= words) continue;
      // A smaller filter ignores the upper bits of a cell's number.
      const half = filter.slice(0, words);
      for (let word = 0; word < words; word++) half[word] |= filter[words + word];
      this.#filters[i] = half;
    }
    this.#filterWords = words;
  }

  /** Estimates the number of distinct terms from how full a bitmap gets of them. */
  #distinctTerms(): number {
    const counter = this.#counter.fill(0);
    let set = 0;
    for (let i = 0; i < this.#hashCount * 2; i += 2) {
      const bit = this.#hashes[i] >>> 12;
      const mask = 1 << (bit & 7);
      if ((counter[bit >> 3] & mask) !== 0) continue;
      counter[bit >> 3] |= mask;
      set++;
    }
    return Math.ceil(COUNTER_BITS * Math.log(COUNTER_BITS / Math.max(1, COUNTER_BITS - set)));
  }

  #cellsOf(terms: number): number {
    const wanted = (terms * this.#bitsPerTerm) / (CELL_BYTES * 8);
    return Math.min(CELLS_MAX, 2 ** Math.max(0, Math.round(Math.log2(Math.max(1, wanted)) + 0.2)));
  }
}

/** What a search needs to know of the filters of a segment's column. */
export interface BloomDirectory {
  readonly kind: 'bloom';
  readonly blockRows: number;
  readonly blocks: number;
  /** Cells of a filter. */
  readonly cells: number;
  readonly flags: number;
  /** Rows of the segment. */
  readonly rowCount: number;
  /** Approximate size in memory. */
  readonly bytes: number;
}

/** Reads the directory of filters. @param rowCount number of rows of the segment. */
export async function readBloomDirectory(source: RangeReader, rowCount: number): Promise<BloomDirectory> {
  const reader = new ByteReader(await source.read(0, HEADER_BYTES));
  const [blockRows, blocks, cells, flags] = [reader.uint32(), reader.uint32(), reader.uint32(), reader.uint32()];
  return { kind: 'bloom', blockRows, blocks, cells, flags, rowCount, bytes: 160 };
}

/** Searches the filters of a segment's column. */
export class BloomReader {
  readonly #source: RangeReader;
  readonly #directory: BloomDirectory;

  constructor(source: RangeReader, directory: BloomDirectory) {
    this.#source = source;
    this.#directory = directory;
  }

  /** Returns rows outside of which the query matches none. */
  async search(query: TextQuery): Promise<RowSet> {
    const blocks = await this.#blocksOf(query);
    if (blocks.rows === undefined) return ANY_ROW;
    return { rows: this.#rowsOf(blocks.rows), isExact: false };
  }

  /** Returns the numbers of blocks instead of rows. */
  async #blocksOf(query: TextQuery): Promise<RowSet> {
    if (query.kind === 'needle') return this.#blocksWith(query);
    if (query.kind === 'not') return ANY_ROW;
    const parts: RowSet[] = [];
    for (const part of query.parts) parts.push(await this.#blocksOf(part));
    return query.kind === 'all' ? intersectRows(parts) : uniteRows(parts, this.#directory.blocks);
  }

  async #blocksWith(needle: Needle): Promise<RowSet> {
    const isCaseSensitive = (this.#directory.flags & CASE_SENSITIVE) !== 0;
    if (needle.folds && (isCaseSensitive || (this.#directory.flags & FOLDING_TO_ASCII) !== 0)) return ANY_ROW;
    const { whole } = termsOf(needle);
    const sets: RowSet[] = [];
    for (const term of whole) {
      sets.push({ rows: await this.#blocksWithTerm(term, !isCaseSensitive), isExact: false });
      if (sets[sets.length - 1].rows?.length === 0) return NO_ROW;
    }
    return intersectRows([ANY_ROW, ...sets]);
  }

  async #blocksWithTerm(term: Uint8Array, folds: boolean): Promise<Uint32Array> {
    const scanner = new TermScanner(folds);
    scanner.scan(term, 0, term.length);
    const { blocks, cells } = this.#directory;
    const cell = scanner.low[0] & (cells - 1);
    const row = blocks * CELL_BYTES;
    const bytes = await this.#source.read(HEADER_BYTES + cell * row, row);
    const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length);
    const masks = SALTS.map((salt) => 1 << (Math.imul(scanner.high[0], salt) >>> 27));
    const found: number[] = [];
    for (let block = 0; block < blocks; block++) {
      const at = block * CELL_BYTES;
      if (masks.every((mask, word) => (view.getUint32(at + word * 4, true) & mask) !== 0)) found.push(block);
    }
    return Uint32Array.from(found);
  }

  #rowsOf(blocks: Uint32Array): Uint32Array {
    const { blockRows, rowCount } = this.#directory;
    const ends = Array.from(blocks, (block) => Math.min((block + 1) * blockRows, rowCount));
    const count = ends.reduce((sum, end, i) => sum + end - blocks[i] * blockRows, 0);
    const rows = new Uint32Array(count);
    let at = 0;
    for (const [i, end] of ends.entries()) {
      for (let row = blocks[i] * blockRows; row < end; row++) rows[at++] = row;
    }
    return rows;
  }
}
