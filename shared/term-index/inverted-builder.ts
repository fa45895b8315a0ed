import { deflateRawSync } from 'node:zlib';

import { AlmanacError } from '#shared/errors/almanac-error';
import { varintLength, writeVarint } from '#shared/bytes/varint';

import { TERM_CHUNK_BYTES, FOLDING_TO_ASCII, HEADER_BYTES, INLINE_ROWS, SEPARATOR } from './inverted-format.js';
import { foldByte, TermScanner } from './term-scanner.js';

/** Limits of one part; a segment with more has several. */
const POSTINGS_MAX = 1 << 24;
const TERMS_MAX = 1 << 22;
const POOL_BYTES_MAX = 1 << 26;
/** Steps of a lookup in the table of terms before they are taken to be chosen to collide. */
const PROBES_MAX = 512;

/** Too many terms of a segment collide in the hash table for it to be indexed. */
export class CollidingTerms extends AlmanacError {
  constructor() {
    super('resources_exhausted', 'terms collide in the hash table');
  }
}

/** The index of some consecutive rows. */
export interface InvertedPart {
  readonly rowFrom: number;
  readonly rowTo: number;
  readonly section: Uint8Array<ArrayBuffer>;
}

/** Builds an inverted index of a segment's column, row by row. Takes about 50 bytes for each row and term. */
export class InvertedBuilder {
  readonly #parts: InvertedPart[] = [];
  readonly #seed: number;
  #scanner = new TermScanner(false);
  #rowFrom = 0;
  #rows = 0;
  /** Numbers of terms by hash; -1 where free. */
  #table = new Int32Array(1 << 16).fill(-1);
  #termCount = 0;
  /** End of each term in the pool. */
  #ends = new Uint32Array(1 << 15);
  #hashes = new Uint32Array(1 << 15);
  #lastRows = new Int32Array(1 << 15);
  /** Number of rows with the term. */
  #frequencies = new Uint32Array(1 << 15);
  #pool = new Uint8Array(1 << 18);
  /** Terms of each row, one row after the other, each once. */
  #postings = new Uint32Array(1 << 18);
  #postingCount = 0;
  /** End of each row in `#postings`. */
  #rowEnds = new Uint32Array(1 << 15);

  /** @param seed a random number of 32 bits, so that no client can choose terms that collide. */
  constructor(seed: number) {
    this.#seed = seed;
  }

  /** Adds a row's text in UTF-8; undefined if it is null. @throws CollidingTerms. */
  add(text: Uint8Array | undefined): void {
    if (text !== undefined) this.#addTerms(text);
    if (this.#rows === this.#rowEnds.length) this.#rowEnds = enlarged(this.#rowEnds);
    this.#rowEnds[this.#rows++] = this.#postingCount;
    const poolBytes = this.#termCount === 0 ? 0 : this.#ends[this.#termCount - 1];
    const isFull = this.#postingCount >= POSTINGS_MAX || this.#termCount >= TERMS_MAX || poolBytes >= POOL_BYTES_MAX;
    if (isFull) this.#endPart();
  }

  /** Completes the last part. */
  finish(): readonly InvertedPart[] {
    if (this.#rows > 0) this.#endPart();
    return this.#parts;
  }

  #addTerms(text: Uint8Array): void {
    const scanner = this.#scanner;
    scanner.scan(text, 0, text.length);
    const { count, starts, ends, low } = scanner;
    if (this.#postingCount + count > this.#postings.length) {
      this.#postings = enlarged(this.#postings, this.#postingCount + count);
    }
    for (let i = 0; i < count; i++) {
      const term = this.#termOf(text, starts[i], ends[i], low[i] ^ this.#seed);
      if (this.#lastRows[term] === this.#rows) continue;
      this.#lastRows[term] = this.#rows;
      this.#frequencies[term]++;
      this.#postings[this.#postingCount++] = term;
    }
  }

  #termOf(text: Uint8Array, start: number, end: number, mixed: number): number {
    const hash = Math.imul(mixed ^ (mixed >>> 16), 0x9e3779b1) >>> 0;
    const mask = this.#table.length - 1;
    for (let slot = hash & mask, probes = 0; ; slot = (slot + 1) & mask, probes++) {
      const term = this.#table[slot];
      if (term === -1) return this.#newTerm(text, start, end, { hash, slot });
      if (this.#hashes[term] === hash && this.#isTerm(term, text, start, end)) return term;
      if (probes > PROBES_MAX) throw new CollidingTerms();
    }
  }

  #isTerm(term: number, text: Uint8Array, start: number, end: number): boolean {
    const from = term === 0 ? 0 : this.#ends[term - 1];
    if (this.#ends[term] - from !== end - start) return false;
    for (let i = start, at = from; i < end; i++, at++) if (text[i] !== this.#pool[at]) return false;
    return true;
  }

  #newTerm(
    text: Uint8Array,
    start: number,
    end: number,
    place: { readonly hash: number; readonly slot: number },
  ): number {
    const term = this.#termCount++;
    if (term === this.#ends.length) {
      this.#ends = enlarged(this.#ends);
      this.#hashes = enlarged(this.#hashes);
      this.#frequencies = enlarged(this.#frequencies);
      const lastRows = new Int32Array(this.#ends.length);
      lastRows.set(this.#lastRows);
      this.#lastRows = lastRows;
    }
    const from = term === 0 ? 0 : this.#ends[term - 1];
    if (from + end - start > this.#pool.length) {
      const pool = new Uint8Array(this.#pool.length * 2);
      pool.set(this.#pool);
      this.#pool = pool;
    }
    for (let i = start, at = from; i < end; i++, at++) this.#pool[at] = text[i];
    this.#ends[term] = from + end - start;
    this.#hashes[term] = place.hash;
    this.#frequencies[term] = 0;
    this.#lastRows[term] = -1;
    this.#table[place.slot] = term;
    if (this.#termCount * 2 > this.#table.length) this.#growTable();
    return term;
  }

  #growTable(): void {
    const table = new Int32Array(this.#table.length * 2).fill(-1);
    const mask = table.length - 1;
    for (let term = 0; term < this.#termCount; term++) {
      let slot = this.#hashes[term] & mask;
      while (table[slot] !== -1) slot = (slot + 1) & mask;
      table[slot] = term;
    }
    this.#table = table;
  }

  #endPart(): void {
    const order = this.#sortedTerms();
    const { begins, rows } = this.#rowsByTerm();
    const writer = new PartWriter(this.#rows);
    for (const term of order) {
      const from = term === 0 ? 0 : this.#ends[term - 1];
      const begin = begins[term];
      writer.add(this.#pool.subarray(from, this.#ends[term]), rows.subarray(begin, begin + this.#frequencies[term]));
    }
    const section = writer.finish(this.#scanner.hasFoldingToAscii ? FOLDING_TO_ASCII : 0);
    this.#parts.push({ rowFrom: this.#rowFrom, rowTo: this.#rowFrom + this.#rows, section });
    this.#rowFrom += this.#rows;
    this.#rows = 0;
    this.#postingCount = 0;
    this.#termCount = 0;
    this.#table = new Int32Array(1 << 16).fill(-1);
    this.#scanner = new TermScanner(false);
  }

  /** Returns the terms in the order of their folded bytes, and then of their bytes. */
  #sortedTerms(): Uint32Array {
    const order = new Uint32Array(this.#termCount);
    const keys = new Float64Array(this.#termCount);
    const bounds = (term: number): [number, number] => [term === 0 ? 0 : this.#ends[term - 1], this.#ends[term]];
    for (let term = 0; term < order.length; term++) {
      order[term] = term;
      const [from, to] = bounds(term);
      // Six bytes decide most comparisons.
      for (let i = 0; i < 6; i++) keys[term] = keys[term] * 256 + (from + i < to ? foldByte(this.#pool[from + i]) : 0);
    }
    return order.sort((a, b) => keys[a] - keys[b] || compareTerms(this.#pool, bounds(a), bounds(b)));
  }

  #rowsByTerm(): { readonly begins: Uint32Array; readonly rows: Uint32Array } {
    const begins = new Uint32Array(this.#termCount);
    for (let term = 1; term < begins.length; term++) begins[term] = begins[term - 1] + this.#frequencies[term - 1];
    const next = begins.slice();
    const rows = new Uint32Array(this.#postingCount);
    for (let row = 0, at = 0; row < this.#rows; row++) {
      for (const end = this.#rowEnds[row]; at < end; at++) rows[next[this.#postings[at]]++] = row;
    }
    return { begins, rows };
  }
}

function compareTerms(pool: Uint8Array, [a, aEnd]: [number, number], [b, bEnd]: [number, number]): number {
  const length = Math.min(aEnd - a, bEnd - b);
  for (let i = 0; i < length; i++) {
    const difference = foldByte(pool[a + i]) - foldByte(pool[b + i]);
    if (difference !== 0) return difference;
  }
  if (aEnd - a !== bEnd - b) return aEnd - a - (bEnd - b);
  for (let i = 0; i < length; i++) if (pool[a + i] !== pool[b + i]) return pool[a + i] - pool[b + i];
  return 0;
}

/** Writes the terms of a part in their order. */
class PartWriter {
  readonly #rowCount: number;
  readonly #bitmap: Uint8Array;
  readonly #chunks: {
    readonly firstTerm: Uint8Array;
    readonly packed: Uint8Array;
    inflated: number;
    postings: number;
  }[] = [];
  readonly #lists: Uint8Array[] = [];
  #listBytes = 0;
  #chunkPostings = 0;
  readonly #text = new Uint8Array(TERM_CHUNK_BYTES * 2);
  #textBytes = 0;
  #terms = 0;
  #firstTerm: Uint8Array = new Uint8Array(0);
  #entries = new Uint8Array(TERM_CHUNK_BYTES);
  #entryBytes = 0;

  constructor(rowCount: number) {
    this.#rowCount = rowCount;
    this.#bitmap = new Uint8Array((rowCount + 7) >> 3);
  }

  add(term: Uint8Array, rows: Uint32Array): void {
    if (this.#terms === 0) this.#firstTerm = term.slice();
    const text = this.#text;
    text[this.#textBytes++] = SEPARATOR;
    text.set(term, this.#textBytes);
    this.#textBytes += term.length;
    this.#terms++;
    this.#addEntry(rows);
    if (this.#textBytes >= TERM_CHUNK_BYTES) this.#endChunk();
  }

  finish(flags: number): Uint8Array<ArrayBuffer> {
    if (this.#terms > 0) this.#endChunk();
    const directoryBytes = this.#chunks.reduce((sum, { firstTerm }) => {
      return sum + varintLength(firstTerm.length) + firstTerm.length + 16;
    }, 0);
    const chunksAt = HEADER_BYTES + directoryBytes;
    const chunkBytes = this.#chunks.reduce((sum, { packed }) => sum + packed.length, 0);
    const section = new Uint8Array(chunksAt + chunkBytes + this.#listBytes);
    const view = new DataView(section.buffer);
    const header = [this.#rowCount, this.#chunks.length, flags, directoryBytes];
    for (const [i, value] of header.entries()) view.setUint32(i * 4, value, true);
    let at = HEADER_BYTES;
    let chunkAt = chunksAt;
    for (const { firstTerm, packed, inflated, postings } of this.#chunks) {
      at = writeVarint(section, at, firstTerm.length);
      section.set(firstTerm, at);
      at += firstTerm.length;
      for (const value of [chunkAt, packed.length, inflated, chunksAt + chunkBytes + postings]) {
        view.setUint32(at, value, true);
        at += 4;
      }
      section.set(packed, chunkAt);
      chunkAt += packed.length;
    }
    for (const list of this.#lists) {
      section.set(list, chunkAt);
      chunkAt += list.length;
    }
    return section;
  }

  #addEntry(rows: Uint32Array): void {
    if (this.#entryBytes + 5 * (INLINE_ROWS + 2) > this.#entries.length) {
      const entries = new Uint8Array(this.#entries.length * 2);
      entries.set(this.#entries);
      this.#entries = entries;
    }
    this.#entryBytes = writeVarint(this.#entries, this.#entryBytes, rows.length);
    if (rows.length <= INLINE_ROWS) {
      this.#entryBytes = writeDifferences(this.#entries, this.#entryBytes, rows);
      return;
    }
    const isDense = rows.length * 8 > this.#rowCount;
    const list = isDense ? this.#deflatedBitmap(rows) : differences(rows);
    this.#lists.push(list);
    this.#listBytes += list.length;
    this.#entryBytes = writeVarint(this.#entries, this.#entryBytes, list.length * 2 + (isDense ? 1 : 0));
  }

  #deflatedBitmap(rows: Uint32Array): Uint8Array {
    const bitmap = this.#bitmap.fill(0);
    for (const row of rows) bitmap[row >> 3] |= 0x80 >> (row & 7);
    return deflateRawSync(bitmap, { level: 1 });
  }

  #endChunk(): void {
    this.#text[this.#textBytes++] = SEPARATOR;
    const head = new Uint8Array(10);
    const headBytes = writeVarint(head, writeVarint(head, 0, this.#terms), this.#textBytes);
    const parts = [
      head.subarray(0, headBytes),
      this.#text.subarray(0, this.#textBytes),
      this.#entries.subarray(0, this.#entryBytes),
    ];
    const raw = Buffer.concat(parts);
    const packed = deflateRawSync(raw, { level: 1 });
    this.#chunks.push({ firstTerm: this.#firstTerm, packed, inflated: raw.length, postings: this.#chunkPostings });
    this.#chunkPostings = this.#listBytes;
    this.#textBytes = 0;
    this.#terms = 0;
    this.#entryBytes = 0;
  }
}

function differences(rows: Uint32Array): Uint8Array {
  const list = new Uint8Array(rows.length * 5);
  return list.slice(0, writeDifferences(list, 0, rows));
}

function writeDifferences(target: Uint8Array, at: number, rows: Uint32Array): number {
  let position = at;
  let before = 0;
  for (const row of rows) {
    position = writeVarint(target, position, row - before);
    before = row;
  }
  return position;
}

function enlarged(array: Uint32Array<ArrayBuffer>, length = array.length + 1): Uint32Array<ArrayBuffer> {
  const grown = new Uint32Array(2 ** Math.ceil(Math.log2(length)));
  grown.set(array);
  return grown;
}
