import { AlmanacError } from '#shared/errors/almanac-error';
import type { FileSystem, OpenFile } from '#shared/fs/file-system';

import type { TermIndexOptions } from './options.js';
import type { RangeReader } from './range-reader.js';

/**
 * Term indexes within a Parquet file, before its footer, where other readers do not look:
 *
 *     Parquet pages   sections   directory (JSON)   u32 bytes of the directory   'ATI1'   Parquet footer
 */
const MAGIC = 0x31495441;
const TRAILER_BYTES = 8;
const DIRECTORY_BYTES_MAX = 1 << 24;

/** A section of an index: consecutive rows of one column. */
export interface IndexPart {
  readonly rowFrom: number;
  readonly rowTo: number;
  /** Position in the file. */
  readonly position: number;
  readonly bytes: number;
}

/** The index of one column of a file. */
export interface StoredColumnIndex {
  readonly columnId: number;
  readonly kind: TermIndexOptions['kind'];
  readonly parts: readonly IndexPart[];
}

/** An index that was built and is to be stored. */
export interface BuiltIndex {
  readonly columnId: number;
  readonly kind: TermIndexOptions['kind'];
  readonly parts: readonly { readonly rowFrom: number; readonly rowTo: number; readonly section: Uint8Array }[];
}

/** Adds indexes to a Parquet file that nothing reads yet; after a failure the file is unusable. */
export async function appendIndexes(fs: FileSystem, path: string, indexes: readonly BuiltIndex[]): Promise<void> {
  const bytes = (await fs.size(path)) ?? 0;
  const file = await fs.open(path, 'update');
  let footer: Uint8Array;
  let position: number;
  try {
    position = await footerPosition(file, bytes);
    footer = await readRange(file, position, bytes - position);
    await file.truncate(position);
  } finally {
    await file.close();
  }
  const sections: Uint8Array[] = [];
  const directory = indexes.map(({ columnId, kind, parts }): StoredColumnIndex => {
    const placed = parts.map(({ rowFrom, rowTo, section }) => {
      sections.push(section);
      const part = { rowFrom, rowTo, position, bytes: section.length };
      position += section.length;
      return part;
    });
    return { columnId, kind, parts: placed };
  });
  const json = Buffer.from(JSON.stringify(directory));
  const trailer = Buffer.alloc(TRAILER_BYTES);
  trailer.writeUInt32LE(json.length, 0);
  trailer.writeUInt32LE(MAGIC, 4);
  const target = await fs.open(path, 'append');
  try {
    for (const part of [...sections, json, trailer, footer]) await target.append([part]);
  } finally {
    await target.close();
  }
}

/** Lists the indexes of a Parquet file. @param bytes size of the file. */
export async function readIndexes(file: OpenFile, bytes: number): Promise<readonly StoredColumnIndex[]> {
  const end = await footerPosition(file, bytes);
  if (end < TRAILER_BYTES) return [];
  const trailer = Buffer.from(await readRange(file, end - TRAILER_BYTES, TRAILER_BYTES));
  const length = trailer.readUInt32LE(0);
  if (trailer.readUInt32LE(4) !== MAGIC || length > Math.min(DIRECTORY_BYTES_MAX, end - TRAILER_BYTES)) return [];
  const json = await readRange(file, end - TRAILER_BYTES - length, length);
  return JSON.parse(Buffer.from(json).toString()) as StoredColumnIndex[];
}

/** Returns a reader of one section of a file. */
export function partReader(file: OpenFile, part: IndexPart): RangeReader {
  return { read: (position, length) => readRange(file, part.position + position, length) };
}

async function footerPosition(file: OpenFile, bytes: number): Promise<number> {
  if (bytes < 12) throw notParquet();
  const tail = Buffer.from(await readRange(file, bytes - 8, 8));
  const position = bytes - 8 - tail.readUInt32LE(0);
  if (tail.toString('latin1', 4) !== 'PAR1' || position < 4) throw notParquet();
  return position;
}

async function readRange(file: OpenFile, position: number, length: number): Promise<Uint8Array> {
  const target = new Uint8Array(length);
  if ((await file.read(target, position)) === length) return target;
  throw new AlmanacError('storage_unavailable', 'file ends within a range that its index names');
}

function notParquet(): AlmanacError {
  return new AlmanacError('storage_unavailable', 'file has no Parquet footer');
}
