import { inflateRawSync } from 'node:zlib';

import { ByteReader } from '#shared/bytes/varint';

import { FOLDING_TO_ASCII, HEADER_BYTES, INLINE_ROWS, SEPARATOR, type ChunkEntry } from './inverted-format.js';
import type { RangeReader } from './range-reader.js';
import { ANY_ROW, intersectRows, NO_ROW, uniteRows, type RowSet } from './row-set.js';
import { foldByte, TERM_BYTES_MAX } from './term-scanner.js';
import { isDelimited, termsOf, type Needle, type TextQuery } from './text-query.js';

/** Terms with a fragment that are united; if there are more, all rows may match. */
const MATCHES_MAX = 10_000;
/** Bytes of terms for each row above which a scan of the rows is faster than one of the terms. */
const SCANNED_BYTES_PER_ROW_MAX = 4;
/** Bytes of terms that are scanned in any case. */
const SCANNED_BYTES_MIN = 64 * 1024;

/** What a search needs to know of a part of an inverted index. */
export interface InvertedDirectory {
  readonly kind: 'inverted';
  readonly rowCount: number;
  readonly flags: number;
  readonly chunks: readonly ChunkEntry[];
  /** Approximate size in memory. */
  readonly bytes: number;
}

/** Reads the directory of a part of an inverted index. */
export async function readInvertedDirectory(source: RangeReader): Promise<InvertedDirectory> {
  const header = new ByteReader(await source.read(0, HEADER_BYTES));
  const [rowCount, chunkCount, flags] = [header.uint32(), header.uint32(), header.uint32()];
  const directory = new ByteReader(await source.read(HEADER_BYTES, header.uint32()));
  const chunks = Array.from({ length: chunkCount }, (): ChunkEntry => {
    const firstTerm = directory.slice(directory.varint()).slice();
    const [position, bytes] = [directory.uint32(), directory.uint32()];
    return { firstTerm, position, bytes, inflatedBytes: directory.uint32(), postings: directory.uint32() };
  });
  const bytes = chunks.reduce((sum, { firstTerm }) => sum + firstTerm.length + 160, 256);
  return { kind: 'inverted', rowCount, flags, chunks, bytes };
}

/** Searches a part of an inverted index. Row numbers are relative to the part. */
export class InvertedReader {
  readonly #source: RangeReader;
  readonly #rowCount: number;
  readonly #flags: number;
  readonly #chunks: readonly ChunkEntry[];

  constructor(source: RangeReader, { rowCount, flags, chunks }: InvertedDirectory) {
    this.#source = source;
    this.#rowCount = rowCount;
    this.#flags = flags;
    this.#chunks = chunks;
  }

  /** Returns rows outside of which the query matches none. */
  async search(query: TextQuery): Promise<RowSet> {
    if (query.kind === 'needle') return this.#rowsWith(query);
    // A null is not matched by the negation either.
    if (query.kind === 'not') return ANY_ROW;
    const sets: RowSet[] = [];
    for (const part of query.parts) {
      sets.push(await this.search(part));
      if (query.kind === 'all' && sets[sets.length - 1].rows?.length === 0) return NO_ROW;
    }
    return query.kind === 'all' ? intersectRows(sets) : uniteRows(sets, this.#rowCount);
  }

  async #rowsWith(needle: Needle): Promise<RowSet> {
    if (needle.folds && (this.#flags & FOLDING_TO_ASCII) !== 0) return ANY_ROW;
    const { whole, fragment, isExact } = termsOf(needle);
    if (fragment !== undefined && !isDelimited(needle)) return this.#rowsWithFragment(fragment, needle.folds, isExact);
    const sets: RowSet[] = [];
    for (const term of whole) {
      sets.push({ rows: await this.#rowsWithTerm(term, needle.folds), isExact });
      if (sets[sets.length - 1].rows?.length === 0) return NO_ROW;
    }
    return sets.length === 0 ? ANY_ROW : intersectRows(sets);
  }

  async #rowsWithTerm(term: Uint8Array, folds: boolean): Promise<Uint32Array> {
    const found: RowSet[] = [];
    for (let i = this.#chunkOf(term); i < this.#chunks.length; i++) {
      if (compareFolded(this.#chunks[i].firstTerm, term) > 0) break;
      const chunk = await this.#chunk(i);
      const wanted = chunk.termsThat((at, end) => {
        return folds ? isFolded(chunk.text, at, end, term) : isEqual(chunk.text, at, end, term);
      });
      found.push(...(await this.#rowsOf(chunk, wanted)));
    }
    return found.length === 0 ? new Uint32Array(0) : (uniteRows(found, this.#rowCount).rows ?? new Uint32Array(0));
  }

  async #rowsWithFragment(fragment: Uint8Array, folds: boolean, isExact: boolean): Promise<RowSet> {
    const bytes = this.#chunks.reduce((sum, { inflatedBytes }) => sum + inflatedBytes, 0);
    if (bytes > Math.max(SCANNED_BYTES_MIN, this.#rowCount * SCANNED_BYTES_PER_ROW_MAX)) return ANY_ROW;
    const found: RowSet[] = [];
    let isWhole = isExact;
    for (let i = 0; i < this.#chunks.length; i++) {
      const chunk = await this.#chunk(i);
      const wanted = chunk.termsWith(Buffer.from(fragment), folds);
      if (wanted.hasTruncated) isWhole = false;
      found.push(...(await this.#rowsOf(chunk, wanted.positions)));
      if (found.length > MATCHES_MAX) return ANY_ROW;
    }
    if (found.length === 0) return NO_ROW;
    return { rows: uniteRows(found, this.#rowCount).rows, isExact: isWhole };
  }

  /** Returns the last chunk that begins before a term, whatever its case. */
  #chunkOf(term: Uint8Array): number {
    let low = 0;
    let high = this.#chunks.length - 1;
    while (low < high) {
      const middle = (low + high + 1) >> 1;
      if (compareFolded(this.#chunks[middle].firstTerm, term) < 0) low = middle;
      else high = middle - 1;
    }
    return low;
  }

  async #chunk(i: number): Promise<Chunk> {
    const { position, bytes, inflatedBytes, postings } = this.#chunks[i];
    const packed = await this.#source.read(position, bytes);
    return new Chunk(inflateRawSync(packed, { maxOutputLength: inflatedBytes }), postings);
  }

  /** @param terms ascending positions in the chunk. */
  async #rowsOf(chunk: Chunk, terms: readonly number[]): Promise<RowSet[]> {
    const sets: RowSet[] = [];
    for (const entry of chunk.entries(terms)) {
      if (entry.rows !== undefined) {
        sets.push({ rows: entry.rows, isExact: true });
        continue;
      }
      const list = await this.#source.read(entry.position, entry.bytes);
      sets.push({
        rows: entry.isBitmap ? this.#bitmapRows(list, entry.count) : differencesOf(list, entry.count),
        isExact: true,
      });
    }
    return sets;
  }

  #bitmapRows(list: Uint8Array, count: number): Uint32Array {
    const bitmap = inflateRawSync(list, { maxOutputLength: (this.#rowCount + 7) >> 3 });
    const rows = new Uint32Array(count);
    let at = 0;
    for (let i = 0; i < bitmap.length; i++) {
      for (let rest = bitmap[i]; rest !== 0;) {
        const bit = Math.clz32(rest) - 24;
        rows[at++] = i * 8 + bit;
        rest &= ~(0x80 >> bit);
      }
    }
    return rows;
  }
}

/** Rows of a term: themselves, or where their list is. */
interface Posting {
  readonly count: number;
  readonly rows: Uint32Array | undefined;
  readonly position: number;
  readonly bytes: number;
  readonly isBitmap: boolean;
}

/** Some consecutive terms. */
class Chunk {
  /** A line feed before each term and at the end. */
  readonly text: Buffer;
  readonly #postings: number;
  readonly #entries: Buffer;

  constructor(raw: Buffer, postings: number) {
    const reader = new ByteReader(raw);
    reader.varint();
    const textBytes = reader.varint();
    this.text = raw.subarray(reader.at, reader.at + textBytes);
    this.#entries = raw.subarray(reader.at + textBytes);
    this.#postings = postings;
  }

  /** Returns the positions of the terms for which a function of their range in `text` is true. */
  termsThat(isWanted: (at: number, end: number) => boolean): number[] {
    const found: number[] = [];
    for (let at = 1, term = 0; at < this.text.length; term++) {
      const end = this.text.indexOf(SEPARATOR, at);
      if (isWanted(at, end)) found.push(term);
      at = end + 1;
    }
    return found;
  }

  /** Returns the positions of the terms with a fragment, and of those that are only the beginning of a longer term. */
  termsWith(fragment: Buffer, folds: boolean): { readonly positions: number[]; readonly hasTruncated: boolean } {
    const text = folds ? Buffer.from(this.text.map(foldByte)) : this.text;
    let hasTruncated = false;
    let next = text.indexOf(fragment);
    // Most chunks of a rare fragment end here, unless a term is as long as terms can be.
    const positions = this.termsThat((at, end) => {
      while (next !== -1 && next < at) next = text.indexOf(fragment, at);
      const isTruncated = end - at >= TERM_BYTES_MAX;
      hasTruncated ||= isTruncated;
      return isTruncated || (next !== -1 && next < end);
    });
    return { positions, hasTruncated };
  }

  /** Returns what is stored of the rows of some terms. @param terms ascending. */
  *entries(terms: readonly number[]): Generator<Posting> {
    if (terms.length === 0) return;
    const reader = new ByteReader(this.#entries);
    let position = this.#postings;
    for (let term = 0, next = 0; next < terms.length; term++) {
      const count = reader.varint();
      const isWanted = terms[next] === term;
      if (isWanted) next++;
      if (count <= INLINE_ROWS) {
        const rows = new Uint32Array(count);
        for (let i = 0, row = 0; i < count; i++) rows[i] = row += reader.varint();
        if (isWanted) yield { count, rows, position: 0, bytes: 0, isBitmap: false };
        continue;
      }
      const tag = reader.varint();
      const bytes = Math.floor(tag / 2);
      if (isWanted) yield { count, rows: undefined, position, bytes, isBitmap: tag % 2 === 1 };
      position += bytes;
    }
  }
}

function differencesOf(list: Uint8Array, count: number): Uint32Array {
  const reader = new ByteReader(list);
  const rows = new Uint32Array(count);
  for (let i = 0, row = 0; i < count; i++) rows[i] = row += reader.varint();
  return rows;
}

/** Compares terms without the case of their letters. */
function compareFolded(a: Uint8Array, b: Uint8Array): number {
  const length = Math.min(a.length, b.length);
  for (let i = 0; i < length; i++) {
    const difference = foldByte(a[i]) - foldByte(b[i]);
    if (difference !== 0) return difference;
  }
  return a.length - b.length;
}

function isEqual(bytes: Uint8Array, at: number, end: number, term: Uint8Array): boolean {
  if (end - at !== term.length) return false;
  for (let i = 0; i < term.length; i++) if (bytes[at + i] !== term[i]) return false;
  return true;
}

function isFolded(bytes: Uint8Array, at: number, end: number, term: Uint8Array): boolean {
  if (end - at !== term.length) return false;
  for (let i = 0; i < term.length; i++) if (foldByte(bytes[at + i]) !== foldByte(term[i])) return false;
  return true;
}
