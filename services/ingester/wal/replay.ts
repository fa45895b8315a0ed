import { AlmanacError } from '#shared/errors/almanac-error';
import type { FileSystem, OpenFile } from '#shared/fs/file-system';
import type { Logger } from '#shared/telemetry/log';
import { decodeRecord, RECORD_HEADER_BYTES, type LogRecord } from './record.js';
import { FILE_HEADER, listWalFiles, walFilePath, type WalFile } from './wal-files.js';

/** Bytes that are read at a time; a longer record gets a buffer of its own. */
const READ_BYTES = 4 << 20;

export interface ReplayOptions {
  readonly folder: string;
  readonly fs: FileSystem;
  readonly log: Logger;
  /** `strict` stops at a damaged record in the middle; `skip-corrupt` leaves it out, as far as its length tells. */
  readonly recover: 'strict' | 'skip-corrupt';
  /** Gets every intact record in order. Its bytes are only valid until the returned promise resolves. */
  readonly onRecord: (record: LogRecord, file: WalFile) => Promise<void> | void;
  readonly onProgress: (doneBytes: number, totalBytes: number) => void;
}

/**
 * Reads a log back.
 *
 * A record that is cut off at the very end of the last file was never acknowledged: it is removed. Everything else that
 * does not read back is damage.
 *
 * @returns the files, for the log that goes on behind them.
 * @throws `storage_unavailable` naming file and place, at damage in strict mode.
 */
export async function replayWal(options: ReplayOptions): Promise<WalFile[]> {
  const { fs, folder } = options;
  const numbers = await listWalFiles(fs, folder);
  const files: WalFile[] = [];
  let totalBytes = 0;
  for (const number of numbers) {
    const path = walFilePath(folder, number);
    const bytes = (await fs.size(path)) ?? 0;
    // Batch ids in a young file are still needed, also after a restart.
    const lastWriteMs = (await fs.modifiedMs(path)) ?? 0;
    files.push({ number, path, bytes, lastWriteMs, lastSequences: new Map() });
    totalBytes += bytes;
  }
  const last = files.at(-1);
  if (last !== undefined && (await isUnborn(last, fs))) {
    // It must not stay: once other files follow, one without a header is damage.
    await fs.remove(last.path);
    files.pop();
  }
  let doneBytes = 0;
  for (const [index, file] of files.entries()) {
    await replayFile(file, index === files.length - 1, options, (at) => {
      options.onProgress(doneBytes + at, totalBytes);
    });
    doneBytes += file.bytes;
  }
  options.onProgress(totalBytes, totalBytes);
  return files;
}

async function replayFile(
  file: WalFile,
  isLast: boolean,
  options: ReplayOptions,
  onProgress: (at: number) => void,
): Promise<void> {
  const handle = await options.fs.open(file.path, isLast ? 'update' : 'read');
  try {
    if (!(await hasHeader(handle, file, options))) return;
    let at = FILE_HEADER.length;
    while (at < file.bytes) {
      const chunk = await readChunk(handle, at, file.bytes);
      const used = await replayChunk(chunk, at, { file, isLast, options });
      if (used === 0) {
        await endOfLog(handle, at, { file, isLast, options });
        return;
      }
      at += used;
      onProgress(at);
    }
  } finally {
    await handle.close();
  }
}

interface Place {
  readonly file: WalFile;
  readonly isLast: boolean;
  readonly options: ReplayOptions;
}

/** Hands out the records of a chunk. @returns bytes used; 0 if the log cannot be read on from here. */
async function replayChunk(chunk: Uint8Array, base: number, { file, options }: Place): Promise<number> {
  let at = 0;
  for (;;) {
    if (at === chunk.length) return at;
    const found = decodeRecord(chunk, at);
    if (found.kind === 'record') {
      const { record } = found;
      const sequenceTo = record.sequenceFrom + BigInt(record.rowCount);
      file.lastSequences.set(record.regionId, sequenceTo);
      await options.onRecord(record, file);
    } else if (found.kind === 'short') {
      return at;
    } else {
      if (found.length === 0 || options.recover === 'strict') {
        return at;
      }
      options.log.error({ file: file.path, at: base + at, lostBytes: found.length }, 'damaged log record left out');
    }
    at += found.length;
  }
}

/** At bytes that are no whole record: the torn end of the last write, or damage. */
async function endOfLog(handle: OpenFile, at: number, { file, isLast, options }: Place): Promise<void> {
  const lostBytes = file.bytes - at;
  if (isLast && (await isTornTail(handle, at, file.bytes))) {
    options.log.warn({ file: file.path, at, lostBytes }, 'cut off a torn record at the end of the log');
    await handle.truncate(at);
    await handle.sync();
    file.bytes = at;
    return;
  }
  if (options.recover === 'strict') {
    const text =
      `write-ahead log "${file.path}" is damaged at byte ${at} (${lostBytes} bytes behind it); ` +
      `restore the file, or start with wal.recover = "skip-corrupt" to lose the rows that cannot be read`;
    throw new AlmanacError('storage_unavailable', text);
  }
  options.log.error({ file: file.path, at, lostBytes }, 'damaged end of a log file left out');
}

/**
 * Whether the bytes from `at` on are what a crash left of the last group of writes, of which nothing was acknowledged.
 * Pages reach the disk in any order, so records of that group may be intact behind the torn one. An intact record of a
 * group that began later means that acknowledged data was damaged.
 */
export async function isTornTail(handle: OpenFile, at: number, fileBytes: number): Promise<boolean> {
  const rest = new Uint8Array(fileBytes - at);
  await handle.read(rest, at);
  for (let next = 8; next + RECORD_HEADER_BYTES <= rest.length; next += 8) {
    const found = decodeRecord(rest, next);
    if (found.kind === 'record' && found.record.groupAt > at) return false;
  }
  return true;
}

/** Whether the process ended between creating the file and syncing its header. */
async function isUnborn({ path, bytes }: WalFile, fs: FileSystem): Promise<boolean> {
  if (bytes > FILE_HEADER.length) return false;
  return Buffer.compare(await fs.readFile(path), FILE_HEADER) !== 0;
}

async function hasHeader(handle: OpenFile, file: WalFile, options: ReplayOptions): Promise<boolean> {
  const header = new Uint8Array(FILE_HEADER.length);
  const read = await handle.read(header, 0);
  if (read === header.length && Buffer.compare(header, FILE_HEADER) === 0) return true;
  if (options.recover === 'strict') {
    throw new AlmanacError('storage_unavailable', `"${file.path}" is no write-ahead log of this format`);
  }
  options.log.error({ file: file.path }, 'file without a log header left out');
  return false;
}

/** Bytes from `at` on: at least one whole record, if the file has one there. */
export async function readChunk(handle: OpenFile, at: number, fileBytes: number): Promise<Uint8Array> {
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
