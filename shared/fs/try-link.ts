import { link, lstat } from 'node:fs/promises';

import { errorCode } from './node-file-system.js';

/** Another disk, a disk without hard links, another user's file, or a file with the maximum number of links. */
const NOT_HERE: ReadonlySet<string | undefined> = new Set([
  'EXDEV',
  'EPERM',
  'EMLINK',
  'ENOTSUP',
  'EOPNOTSUPP',
  'ENOSYS',
]);

/**
 * Creates a hard link.
 *
 * @returns false where that is impossible and the file has to be copied; also if `source` is a symbolic link, whose hard
 *   link would point to the original location.
 */
export async function tryLink(source: string, target: string): Promise<boolean> {
  if ((await lstat(source)).isSymbolicLink()) return false;
  try {
    await link(source, target);
    return true;
  } catch (error) {
    if (NOT_HERE.has(errorCode(error))) return false;
    throw error;
  }
}
