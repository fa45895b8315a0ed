import { CompactReader, TYPE, UnknownLayout } from '#shared/parquet/compact-protocol';
import { decompress } from './zstd.js';

/** Larger pages are left to the engine. */
const PAGE_BYTES_MAX = 2 ** 26;

/** Before the levels of a page of version 1: their length. */
const LENGTH_BYTES = 4;

const DATA_PAGE = 0;
const DATA_PAGE_V2 = 3;

/** A page after decompression. */
export interface Page {
  readonly valueCount: number;
  /** Number of the encoding of its values. */
  readonly encoding: number;
  /** Definition levels in `levelBytes[levelsFrom, levelsTo)`; none if the column is required. */
  readonly levelBytes: Uint8Array;
  readonly levelsFrom: number;
  readonly levelsTo: number;
  /** Values in `bytes[from, to)`. */
  readonly bytes: Uint8Array;
  readonly from: number;
  readonly to: number;
  /** Position of the next page in the chunk. */
  readonly end: number;
}

interface PageHeader {
  type: number;
  bytes: number;
  storedBytes: number;
  valueCount: number;
  encoding: number;
  /** Of V2, whose levels are not compressed. */
  levelBytes: number;
  isCompressed: boolean;
}

/** Memory for a page that is not compressed, kept between calls. */
let buffer = new Uint8Array(0);

/** Reads and decompresses a page of a chunk; it is valid until the next call. @param at its position in the chunk. */
export function readPage(chunk: Uint8Array, at: number, isOptional: boolean): Page {
  const reader = new CompactReader(chunk, at);
  const header = readHeader(reader);
  const { bytes, storedBytes, levelBytes, valueCount, encoding } = header;
  const dataAt = reader.at;
  const end = dataAt + storedBytes;
  if (
    bytes > PAGE_BYTES_MAX ||
    bytes < levelBytes ||
    storedBytes < levelBytes ||
    end > chunk.length ||
    valueCount < 0
  ) {
    throw new UnknownLayout('page is cut off, or too large');
  }
  const valuesAt = dataAt + levelBytes;
  const length = bytes - levelBytes;
  const values = valuesOf(chunk.subarray(valuesAt, end), length, header.isCompressed);
  // No spread: V8 would make a new shape for each page.
  let [levels, levelsFrom, levelsTo, from] = [values, 0, 0, 0];
  if (header.type === DATA_PAGE_V2) [levels, levelsFrom, levelsTo] = [chunk, dataAt, valuesAt];
  else if (isOptional) {
    if (length < LENGTH_BYTES) throw new UnknownLayout('levels are cut off');
    from = LENGTH_BYTES + new DataView(values.buffer, values.byteOffset).getUint32(0, true);
    if (from > length) throw new UnknownLayout('levels are cut off');
    [levelsFrom, levelsTo] = [LENGTH_BYTES, from];
  }
  return { valueCount, encoding, levelBytes: levels, levelsFrom, levelsTo, bytes: values, from, to: length, end };
}

/** Returns the plain bytes of a page, and maybe more. @throws `UnknownLayout` if there are fewer than `length`. */
function valuesOf(stored: Uint8Array, length: number, isCompressed: boolean): Uint8Array {
  if (isCompressed && stored.length > 0) return decompress(stored, length);
  if (stored.length < length) throw new UnknownLayout('page is cut off');
  if (buffer.length < stored.length) buffer = new Uint8Array(stored.length);
  buffer.set(stored);
  return buffer;
}

function readHeader(reader: CompactReader): PageHeader {
  const header = {
    type: -1,
    bytes: 0,
    storedBytes: 0,
    valueCount: -1,
    encoding: -1,
    levelBytes: 0,
    isCompressed: true,
  };
  reader.struct((id, type) => {
    if (id === 1) header.type = reader.number();
    else if (id === 2) header.bytes = reader.number();
    else if (id === 3) header.storedBytes = reader.number();
    else if (id === 5 && type === TYPE.struct) readDataPage(reader, header);
    else if (id === 8 && type === TYPE.struct) readDataPageV2(reader, header);
    else return false;
    return true;
  });
  if (header.type !== DATA_PAGE && header.type !== DATA_PAGE_V2) throw new UnknownLayout(`page of type ${header.type}`);
  return header;
}

function readDataPage(reader: CompactReader, header: PageHeader): void {
  reader.struct((id) => {
    if (id === 1) header.valueCount = reader.number();
    else if (id === 2) header.encoding = reader.number();
    else return false;
    return true;
  });
}

function readDataPageV2(reader: CompactReader, header: PageHeader): void {
  reader.struct((id, type) => {
    if (id === 1) header.valueCount = reader.number();
    else if (id === 4) header.encoding = reader.number();
    else if (id === 5) header.levelBytes = reader.number();
    else if (id === 7) header.isCompressed = type === TYPE.true;
    else return false;
    return true;
  });
}

/**
 * Reads the definition levels of a page: runs of equal levels, or eight levels in each byte.
 *
 * @param present receives 1 for each row with a value, and 0 for each null, from `at`.
 * @returns number of rows that are null
 */
export function readLevels(
  { levelBytes, levelsFrom, levelsTo, valueCount }: Page,
  present: Uint8Array,
  at: number,
): number {
  let nulls = 0;
  let from = levelsFrom;
  for (let done = 0; done < valueCount;) {
    let header = 0;
    for (let scale = 1; ; scale *= 128) {
      if (from >= levelsTo || scale > 2 ** 28) throw new UnknownLayout('levels are cut off');
      const byte = levelBytes[from++];
      header += (byte & 127) * scale;
      if (byte < 128) break;
    }
    const isPacked = header % 2 === 1;
    const count = Math.min(isPacked ? ((header - 1) / 2) * 8 : header / 2, valueCount - done);
    const length = isPacked ? (count + 7) >> 3 : 1;
    if (count === 0 || from + length > levelsTo) throw new UnknownLayout('levels are cut off');
    if (isPacked) {
      for (let i = 0; i < count; i++) {
        const level = (levelBytes[from + (i >> 3)] >> (i & 7)) & 1;
        present[at + done + i] = level;
        nulls += 1 - level;
      }
    } else {
      const level = levelBytes[from] & 1;
      present.fill(level, at + done, at + done + count);
      if (level === 0) nulls += count;
    }
    from += isPacked ? (header - 1) / 2 : 1;
    done += count;
  }
  return nulls;
}
