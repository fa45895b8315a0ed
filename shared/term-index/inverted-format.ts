/**
 * An inverted index of rows: each term with the rows that have it.
 *
 *     u32 rows   u32 chunks   u32 flags   u32 bytes of the directory
 *     directory: for each chunk its first term (varint length, bytes), and u32 position, bytes, bytes when inflated,
 *                position of its first posting list
 *     chunks: terms in the order of their folded bytes, deflated
 *     posting lists
 *
 * A chunk is a varint of the number of terms, a varint of the length of their text, the text (a line feed before each term
 * and at the end), and then for each term a varint of its number of rows and its rows: up to `INLINE_ROWS` as differences
 * here, or else a varint `bytes * 2 + kind` of the next posting list, which holds differences as varints (kind 0) or a deflated
 * bitmap (kind 1).
 */
export const HEADER_BYTES = 16;

/** Rows that are stored in the chunk. */
export const INLINE_ROWS = 8;
/** Size of a chunk's text before it is deflated: a search reads one chunk for each term, and 160 bytes in memory lead to it. */
export const TERM_CHUNK_BYTES = 16 * 1024;
/** Flag: a text has a character outside ASCII whose lower case begins with an ASCII letter. */
export const FOLDING_TO_ASCII = 2;
/** Separates terms in a chunk. */
export const SEPARATOR = 0x0a;

/** A chunk as the directory lists it. */
export interface ChunkEntry {
  readonly firstTerm: Uint8Array;
  /** Position in the section. */
  readonly position: number;
  readonly bytes: number;
  readonly inflatedBytes: number;
  /** Position of its first posting list in the section. */
  readonly postings: number;
}
