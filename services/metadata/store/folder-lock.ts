import Database from 'better-sqlite3';
import { AlmanacError } from '#shared/errors/almanac-error';

import { storeError } from './open.js';

/**
 * Claims a data folder for this process: an exclusive transaction on `lock.db`, which the kernel ends with the process,
 * however it dies, and which holds between containers that share a volume.
 *
 * @returns gives the folder back.
 * @throws `illegal_state` if another process has it.
 */
export function lockFolder(folder: string): () => void {
  const path = `${folder}/lock.db`;
  const connection = openLock(path);
  try {
    connection.exec('BEGIN EXCLUSIVE');
  } catch (error) {
    connection.close();
    if (error instanceof Database.SqliteError && error.code === 'SQLITE_BUSY') {
      throw new AlmanacError('illegal_state', `data folder "${folder}" is in use by another process`);
    }
    throw storeError(error, `cannot lock "${path}"`);
  }
  return () => connection.close();
}

function openLock(path: string): Database.Database {
  try {
    return new Database(path, { timeout: 0 });
  } catch (error) {
    throw storeError(error, `cannot open "${path}"`);
  }
}
