import { realpath } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';

import { errorCode } from './node-file-system.js';

/** Resolves symbolic links; a part that does not exist yet stays as written. */
export async function realPathOf(path: string): Promise<string> {
  try {
    return await realpath(path);
  } catch (error) {
    if (errorCode(error) !== 'ENOENT' || dirname(path) === path) throw error;
    return join(await realPathOf(dirname(path)), basename(path));
  }
}
