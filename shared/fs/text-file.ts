import { appendFileSync, chmodSync, mkdirSync, readFileSync } from 'node:fs';
import { dirname } from 'node:path';

import { AlmanacError } from '#shared/errors/almanac-error';

/**
 * Reads a small file synchronously; undefined if it does not exist. For start-up and the command line.
 *
 * @throws `storage_unavailable` if the file exists and cannot be read.
 */
export function readTextFile(path: string): string | undefined {
  try {
    return readFileSync(path, 'utf8');
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException;
    if (code === 'ENOENT' || code === 'ENOTDIR') return undefined;
    throw new AlmanacError('storage_unavailable', `cannot read "${path}": ${message}`, { cause: error });
  }
}

/** Appends to a file that only this user may read, and creates it and its folder if needed. */
export function appendPrivateText(path: string, text: string): void {
  mkdirSync(dirname(path), { recursive: true, mode: 0o700 });
  appendFileSync(path, text, { mode: 0o600 });
  chmodSync(path, 0o600);
}
