import { mkdtemp } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { AlmanacError } from '#shared/errors/almanac-error';

/**
 * Makes an empty folder among the machine's temporary ones that only this user may read; the caller removes it.
 *
 * @throws `storage_unavailable` if there is no place for one.
 */
export async function makePrivateFolder(name: string): Promise<string> {
  try {
    return await mkdtemp(join(tmpdir(), `${name}-`));
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    const text = `a temporary folder is needed (TMPDIR says where) and cannot be made: ${reason}`;
    throw new AlmanacError('storage_unavailable', text, { cause: error });
  }
}
