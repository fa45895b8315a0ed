import Database from 'better-sqlite3';

import { AlmanacError } from '#shared/errors/almanac-error';

/** Lies in a folder that somebody has, or had. */
export const LOCK_FILE = 'lock.db';

/**
 * Claims a folder for this process: an exclusive transaction on `LOCK_FILE` in it, which the kernel ends with the
 * process, however it dies, and which holds between containers that share a volume.
 *
 * @returns gives the folder back; undefined if another process has it.
 * @throws `storage_unavailable` if the folder cannot be written.
 */
export function tryLockFolder(folder: string): (() => void) | undefined {
  const path = `${folder}/${LOCK_FILE}`;
  const connection = openLock(path);
  try {
    connection.exec('BEGIN EXCLUSIVE');
  } catch (error) {
    connection.close();
    if (error instanceof Database.SqliteError && error.code === 'SQLITE_BUSY') return undefined;
    throw lockError(path, error);
  }
  return () => connection.close();
}

/** As `tryLockFolder`. @throws `illegal_state` if another process has the folder. */
export function lockFolder(folder: string): () => void {
  const unlock = tryLockFolder(folder);
  if (unlock === undefined) {
    throw new AlmanacError('illegal_state', `data folder "${folder}" is in use by another process`);
  }
  return unlock;
}

function openLock(path: string): Database.Database {
  try {
    return new Database(path, { timeout: 0 });
  } catch (error) {
    throw lockError(path, error);
  }
}

function lockError(path: string, error: unknown): AlmanacError {
  const code = error instanceof Database.SqliteError ? error.code : 'unknown error';
  return new AlmanacError('storage_unavailable', `cannot lock "${path}": ${code}`, { cause: error });
}
