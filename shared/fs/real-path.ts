import { realpath } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';

import { errorCode } from './node-file-system.js';

/** Where a path leads when links are followed; what does not exist yet is taken as it is written. */
export async function realPathOf(path: string): Promise<string> {
  try {
    return await realpath(path);
  } catch (error) {
    if (errorCode(error) !== 'ENOENT' || dirname(path) === path) throw error;
    return join(await realPathOf(dirname(path)), basename(path));
  }
}
