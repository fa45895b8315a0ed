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

/** How far a file reads back. */
export type LogFileEnd =
  | { readonly kind: 'whole' }
  /** Zeros follow, which were written ahead of records. */
  | { readonly kind: 'extended'; readonly at: number }
  /** A crash left a part of the last group of writes, of which nothing was acknowledged. */
  | { readonly kind: 'torn'; readonly at: number }
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
      const used = await readRecords(chunk, at, reader);
      if (used === 0) return { kind: file.isLast ? await kindOfTail(handle, at, file.bytes) : 'damaged', at };
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

/**
 * Passes the records of a chunk on.
 * @returns bytes used; 0 if the log cannot be read further from here.
 */
async function readRecords(
  chunk: Uint8Array,
  base: number,
  { onRecord, skipsDamaged }: LogFileReader,
): Promise<number> {
  let at = 0;
  while (at < chunk.length) {
    const found = decodeRecord(chunk, at);
    if (found.kind === 'short') return at;
    if (found.kind === 'record') await onRecord(found.record);
    else if (found.length === 0 || !skipsDamaged(base + at, found.length)) return at;
    at += found.length;
  }
  return at;
}

/**
 * Returns what the bytes from `at` on are, in the last file. Torn: what a crash left of the last group of writes, of which
 * nothing was acknowledged. Pages reach the disk in any order, so records of that group may be intact after the torn one. An
 * intact record of a group that started later means that acknowledged data is damaged.
 */
async function kindOfTail(handle: OpenFile, at: number, fileBytes: number): Promise<'extended' | 'torn' | 'damaged'> {
  const rest = new Uint8Array(fileBytes - at);
  await handle.read(rest, at);
  const usedBytes = bytesBeforeZeros(rest);
  if (usedBytes === 0) return 'extended';
  for (let next = 8; next < usedBytes && next + RECORD_HEADER_BYTES <= rest.length; next += 8) {
    const found = decodeRecord(rest, next);
    if (found.kind === 'record' && found.record.groupStart > at) return 'damaged';
  }
  return 'torn';
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
