import { AlmanacError } from '#shared/errors/almanac-error';
import type { FileSystem } from '#shared/fs/file-system';
import type { Logger } from '#shared/telemetry/log';
import { describeDamage, hasTornHeader, readLogFile, type LogFileEnd, type TornEnd } from './read-file.js';
import type { LogRecord } from './record.js';
import { listWalFiles, walFilePath, type WalFile } from './wal-files.js';

/** How a log is replayed. */
export interface ReplayOptions {
  readonly folder: string;
  readonly fs: FileSystem;
  readonly log: Logger;
  /** `strict` stops at a damaged record in the middle; `skip-corrupt` skips it as far as its length is known. */
  readonly recover: 'strict' | 'skip-corrupt';
  /** Receives every intact record in order. Its bytes are only valid until the returned promise resolves. */
  readonly onRecord: (record: LogRecord, file: WalFile) => Promise<void> | void;
  readonly onProgress: (doneBytes: number, totalBytes: number) => void;
}

/**
 * Replays a log.
 *
 * A record that is cut off at the end of the last file was never acknowledged, and is removed, as are zeros that were written
 * ahead there. Everything else that does not read back is damage.
 *
 * @returns the files, for the log that continues after them.
 * @throws `storage_unavailable` naming file and offset, at damage in strict mode.
 */
export async function replayWal(options: ReplayOptions): Promise<WalFile[]> {
  const { fs, folder } = options;
  const numbers = await listWalFiles(fs, folder);
  const files: WalFile[] = [];
  let totalBytes = 0;
  for (const number of numbers) {
    const path = walFilePath(folder, number);
    const bytes = (await fs.size(path)) ?? 0;
    // A restart must keep young files, whose batch ids are still needed.
    const lastWriteMs = (await fs.modifiedMs(path)) ?? 0;
    files.push({ number, path, bytes, lastWriteMs, lastSequences: new Map() });
    totalBytes += bytes;
  }
  const last = files.at(-1);
  if (last !== undefined && (await hasTornHeader(last, fs))) {
    // Once other files follow, a file without a header would count as damage.
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
  const { fs, log, recover } = options;
  const { path, bytes } = file;
  const end = await readLogFile(
    { path, bytes, isLast },
    {
      fs,
      onProgress,
      onRecord(record) {
        file.lastSequences.set(record.regionId, record.sequenceFrom + BigInt(record.rowCount));
        return options.onRecord(record, file);
      },
      skipsDamaged(at, lostBytes) {
        if (recover === 'strict') return false;
        log.error({ file: path, at, lostBytes }, 'damaged log record skipped');
        return true;
      },
    },
  );
  if (end.kind === 'torn') warnOfTorn(file, end, options);
  if (end.kind === 'torn' || end.kind === 'extended') await cutOff(file, end.at, options);
  else if (end.kind !== 'whole') leaveOut(file, end, options);
  // A killed process may have left records only in the page cache, and from now on repeated batches rely on them.
  else if (isLast) await syncFile(file, fs);
}

async function syncFile({ path }: WalFile, fs: FileSystem): Promise<void> {
  const handle = await fs.open(path, 'update');
  try {
    await handle.sync();
  } finally {
    await handle.close();
  }
}

function warnOfTorn(file: WalFile, { at, bytes }: TornEnd, { log }: ReplayOptions): void {
  const why = 'a torn write, which was never acknowledged, or damage to the last records, which may have been';
  log.warn({ file: file.path, at, lostBytes: bytes, why }, 'torn record at the end of the log cut off');
}

async function cutOff(file: WalFile, at: number, { fs }: ReplayOptions): Promise<void> {
  const handle = await fs.open(file.path, 'update');
  try {
    await handle.truncate(at);
    await handle.sync();
  } finally {
    await handle.close();
  }
  file.bytes = at;
}

/** @throws `storage_unavailable` in strict mode. */
function leaveOut(file: WalFile, end: LogFileEnd, { log, recover }: ReplayOptions): void {
  if (recover === 'strict') {
    const remedy = 'restore the file, or start with wal.recover = "skip-corrupt" to lose the rows that cannot be read';
    const text = `write-ahead log "${file.path}" ${describeDamage(file.bytes, end)}; ${remedy}`;
    throw new AlmanacError('storage_unavailable', text);
  }
  if (end.kind === 'damaged') {
    const lost = { file: file.path, at: end.at, lostBytes: file.bytes - end.at };
    log.error(lost, 'damaged end of a log file skipped');
  } else {
    log.error({ file: file.path }, 'log file skipped: its header is damaged or missing');
  }
}
