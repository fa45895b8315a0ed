import { padded } from '#shared/bytes/padded';
import type { FileSystem, OpenFile } from '#shared/fs/file-system';
import { decodeRecord, RECORD_HEADER_BYTES, type LogRecord } from './record.js';
import { FILE_HEADER } from './wal-files.js';

/** Bytes read at a time; a longer record gets a buffer of its own. */
const READ_BYTES = 4 << 20;

/** A log file, and how far to read it. */
export interface LogFileToRead {
  readonly path: string;
  /** Bytes past this offset are ignored: a running owner may be writing them. */
  readonly bytes: number;
  /** Whether it is the last file, whose end a crash may have torn. */
  readonly isLast: boolean;
}

/** Receives the contents of a log file. */
export interface LogFileReader {
  readonly fs: FileSystem;
  /** Receives every intact record in order. Its bytes are only valid until the returned promise resolves. */
  readonly onRecord: (record: LogRecord) => Promise<void> | void;
  /** Decides, for a damaged record of known length, whether to skip it and continue. */
  readonly skipsDamaged: (at: number, lostBytes: number) => boolean;
  readonly onProgress: (at: number) => void;
}

/** A crash left a part of the last group of writes, of which nothing was acknowledged. */
export interface TornEnd {
  readonly kind: 'torn';
  readonly at: number;
  /** Without zeros that were written ahead. */
  readonly bytes: number;
}

/** How far a file reads back. */
export type LogFileEnd =
  | { readonly kind: 'whole' }
  /** Zeros follow, which were written ahead of records. */
  | { readonly kind: 'extended'; readonly at: number }
  | TornEnd
  | { readonly kind: 'damaged'; readonly at: number }
  /** It does not start with the header of this format. */
  | { readonly kind: 'foreign' };

/** Reads a log file. Changes nothing. */
export async function readLogFile(file: LogFileToRead, reader: LogFileReader): Promise<LogFileEnd> {
  const handle = await reader.fs.open(file.path, 'read');
  try {
    if (!(await hasHeader(handle))) return { kind: 'foreign' };
    let at = FILE_HEADER.length;
    while (at < file.bytes) {
      const chunk = await readChunk(handle, at, file.bytes);
      const used = await readRecords(chunk, reader);
      if (used === 0) {
        const tail: LogFileEnd = file.isLast ? await readTail(handle, at, file.bytes) : { kind: 'damaged', at };
        if (tail.kind !== 'damaged') return tail;
        const skipped = await readAgain(handle, at, file, reader);
        if (skipped === undefined) return tail;
        at += skipped;
      }
      at += used;
      reader.onProgress(at);
    }
    return { kind: 'whole' };
  } finally {
    await handle.close();
  }
}

/**
 * Describes, as a predicate, the damage of a file that does not read back.
 *
 * @param end `damaged` or `foreign`.
 */
export function describeDamage(bytes: number, end: LogFileEnd): string {
  if (end.kind === 'foreign') return 'does not begin as a log of this format does';
  const at = end.kind === 'whole' ? bytes : end.at;
  return `is damaged at byte ${at} (${bytes - at} bytes after it)`;
}

/** Returns whether the process ended between creating the file and syncing its header. Only the last file can be so. */
export async function hasTornHeader(
  { path, bytes }: Pick<LogFileToRead, 'path' | 'bytes'>,
  fs: FileSystem,
): Promise<boolean> {
  if (bytes > FILE_HEADER.length) return false;
  return Buffer.compare(await fs.readFile(path), FILE_HEADER) !== 0;
}

/** Passes the records at the start of a chunk on. @returns their bytes. */
async function readRecords(chunk: Uint8Array, { onRecord }: LogFileReader): Promise<number> {
  let at = 0;
  while (at < chunk.length) {
    const found = decodeRecord(chunk, at);
    if (found.kind !== 'record') return at;
    await onRecord(found.record);
    at += found.length;
  }
  return at;
}

/**
 * Reads a record again that was not intact, although a later group is there. If a running owner has replaced zeros with it
 * meanwhile, it is whole now, since a group begins after the one before it is on the disk.
 *
 * @returns bytes to skip, 0 for a record that is intact; undefined if the log cannot be read further.
 */
async function readAgain(
  handle: OpenFile,
  at: number,
  file: LogFileToRead,
  { skipsDamaged }: LogFileReader,
): Promise<number | undefined> {
  const found = decodeRecord(await readChunk(handle, at, file.bytes), 0);
  if (found.kind === 'record') return 0;
  return found.kind === 'damaged' && found.length > 0 && skipsDamaged(at, found.length) ? found.length : undefined;
}

/**
 * Returns what the bytes from `at` on are, in the last file. Torn: what a crash left of the last group of writes, of which
 * nothing was acknowledged. Pages reach the disk in any order, so records of that group may be intact after the torn one. An
 * intact record of a group that started later means that acknowledged data is damaged.
 */
async function readTail(handle: OpenFile, at: number, fileBytes: number): Promise<LogFileEnd> {
  const rest = new Uint8Array(padded(fileBytes - at));
  await handle.read(rest.subarray(0, fileBytes - at), at);
  const bytes = bytesBeforeZeros(rest);
  if (bytes === 0) return { kind: 'extended', at };
  const words = new Uint32Array(rest.buffer);
  for (let next = 8; next < bytes && next + RECORD_HEADER_BYTES <= rest.length; next += 8) {
    // Most offsets have no possible length, which costs least to find out here.
    if (words[next / 4] < RECORD_HEADER_BYTES || words[next / 4] > rest.length - next) continue;
    const found = decodeRecord(rest, next);
    if (found.kind === 'record' && found.record.groupStart > at) return { kind: 'damaged', at };
  }
  return { kind: 'torn', at, bytes };
}

function bytesBeforeZeros(bytes: Uint8Array): number {
  let end = bytes.length;
  while (end > 0 && bytes[end - 1] === 0) end--;
  return end;
}

async function hasHeader(handle: OpenFile): Promise<boolean> {
  const header = new Uint8Array(FILE_HEADER.length);
  const read = await handle.read(header, 0);
  return read === header.length && Buffer.compare(header, FILE_HEADER) === 0;
}

/** Reads bytes from `at` on: at least one whole record, if the file has one there. */
async function readChunk(handle: OpenFile, at: number, fileBytes: number): Promise<Uint8Array> {
  const chunk = await readBytes(handle, at, Math.min(READ_BYTES, fileBytes - at));
  const first = decodeRecord(chunk, 0);
  if (first.kind !== 'short' || first.length <= chunk.length || at + first.length > fileBytes) return chunk;
  return readBytes(handle, at, first.length);
}

async function readBytes(handle: OpenFile, at: number, length: number): Promise<Uint8Array> {
  const bytes = new Uint8Array(length);
  const read = await handle.read(bytes, at);
  return read === length ? bytes : bytes.slice(0, read);
}
