import Database from 'better-sqlite3';

import { AlmanacError } from '#shared/errors/almanac-error';

/** File that locks the folder that it is in; it remains after the lock is released. */
export const LOCK_FILE = 'lock.db';

/**
 * Locks a folder for this process with an exclusive SQLite transaction on `LOCK_FILE` in it. The kernel releases it when
 * the process dies, however that happens, and it holds between containers that share a volume.
 *
 * @returns the function that unlocks; undefined if another process holds the lock.
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

/** Locks a folder as `tryLockFolder` does. @throws `illegal_state` if another process holds the lock. */
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
