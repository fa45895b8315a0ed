import { link, lstat } from 'node:fs/promises';

import { errorCode } from './node-file-system.js';

/** Another disk, a disk without links, a file of somebody else, or a file with as many names as it can have. */
const NOT_HERE: ReadonlySet<string | undefined> = new Set([
  'EXDEV',
  'EPERM',
  'EMLINK',
  'ENOTSUP',
  'EOPNOTSUPP',
  'ENOSYS',
]);

/**
 * Gives a file a second name.
 *
 * @returns false where that cannot be done, and the file has to be copied; also where `source` is a symbolic link, of which
 *   the second name would lead to the place of the first.
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
