import { AlmanacError } from '#shared/errors/almanac-error';
import type { FileSystem } from '#shared/fs/file-system';
import { errorCode } from '#shared/fs/node-file-system';

import { describeDamage, readLogFile, type LogFileEnd } from './read-file.js';
import type { LogRecord } from './record.js';
import { listWalFiles, walFilePath } from './wal-files.js';

/** Log to read, and who receives its records. */
export interface LiveReadOptions {
  readonly folder: string;
  readonly fs: FileSystem;
  /** Receives every record in order. Its bytes are views of a buffer that is reused. */
  readonly onRecord: (record: LogRecord) => void;
}

/**
 * Reads a log that another process keeps writing. Changes nothing.
 *
 * Returns every record that was acknowledged before the call, unless its file was deleted meanwhile, when its rows are
 * in segments. May return later ones.
 *
 * @throws `storage_unavailable` naming file and offset, at damage.
 */
export async function readLiveWal(options: LiveReadOptions): Promise<void> {
  const { fs, folder } = options;
  const numbers = await listWalFiles(fs, folder);
  for (const [index, number] of numbers.entries()) {
    await readFile(walFilePath(folder, number), index === numbers.length - 1, options);
  }
}

async function readFile(path: string, isLast: boolean, { fs, onRecord }: LiveReadOptions): Promise<void> {
  const bytes = await fs.size(path);
  if (bytes === undefined) return;
  const reader = { fs, onRecord, skipsDamaged: () => false, onProgress: () => undefined };
  const end = await readLogFile({ path, bytes, isLast }, reader).catch(wholeIfDeleted);
  if (end.kind === 'whole' || end.kind === 'extended' || end.kind === 'torn') return;
  // A file that is being created has no header yet.
  if (end.kind === 'foreign' && isLast) return;
  throw new AlmanacError('storage_unavailable', `write-ahead log "${path}" ${describeDamage(bytes, end)}`);
}

function wholeIfDeleted(error: unknown): LogFileEnd {
  if (errorCode(error) === 'ENOENT') return { kind: 'whole' };
  throw error;
}
