import { AlmanacError } from '#shared/errors/almanac-error';
import type { FileSystem, OpenFile } from '#shared/fs/file-system';
import { errorCode } from '#shared/fs/node-file-system';

import { decodeRecord, type LogRecord } from './record.js';
import { isTornTail, readChunk } from './replay.js';
import { FILE_HEADER, listWalFiles, walFilePath } from './wal-files.js';

export interface LiveReadOptions {
  readonly folder: string;
  readonly fs: FileSystem;
  /** Gets every record in order. Its bytes are views into a block that is given back. */
  readonly onRecord: (record: LogRecord) => void;
}

/**
 * Reads a log that another process goes on writing, and changes nothing.
 *
 * Every record that was acknowledged before the call is handed out, unless its file was forgotten meanwhile: its rows are
 * in segments then. Later ones may be.
 *
 * @throws `storage_unavailable` naming file and place, at damage.
 */
export async function readLiveWal(options: LiveReadOptions): Promise<void> {
  const { fs, folder } = options;
  const numbers = await listWalFiles(fs, folder);
  for (const [index, number] of numbers.entries()) {
    await readFile(walFilePath(folder, number), index === numbers.length - 1, options);
  }
}

async function readFile(path: string, isLast: boolean, { fs, onRecord }: LiveReadOptions): Promise<void> {
  const handle = await openUnlessForgotten(path, fs);
  if (handle === undefined) return;
  try {
    const bytes = (await fs.size(path)) ?? 0;
    let at = await headerEnd(handle);
    while (at > 0 && at < bytes) {
      const used = handOut(await readChunk(handle, at, bytes), onRecord);
      if (used === 0) break;
      at += used;
    }
    if (at >= bytes) return;
    // What is being written at this moment looks like what a crash leaves behind.
    if (isLast && (at === 0 || (await isTornTail(handle, at, bytes)))) return;
    throw new AlmanacError('storage_unavailable', `write-ahead log "${path}" is damaged at byte ${at}`);
  } finally {
    await handle.close();
  }
}

async function openUnlessForgotten(path: string, fs: FileSystem): Promise<OpenFile | undefined> {
  try {
    return await fs.open(path, 'read');
  } catch (error) {
    if (errorCode(error) === 'ENOENT') return undefined;
    throw error;
  }
}

/** Where the first record begins; 0 if the file has no header, or not yet. */
async function headerEnd(handle: OpenFile): Promise<number> {
  const header = new Uint8Array(FILE_HEADER.length);
  const read = await handle.read(header, 0);
  return read === header.length && Buffer.compare(header, FILE_HEADER) === 0 ? read : 0;
}

/** @returns bytes used; 0 if there is no whole record. */
function handOut(chunk: Uint8Array, onRecord: (record: LogRecord) => void): number {
  let at = 0;
  for (;;) {
    const found = at === chunk.length ? undefined : decodeRecord(chunk, at);
    if (found?.kind !== 'record') return at;
    onRecord(found.record);
    at += found.length;
  }
}
