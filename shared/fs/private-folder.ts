import { mkdtemp } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { AlmanacError } from '#shared/errors/almanac-error';

/**
 * Creates an empty folder in the machine's temporary folder that only this user may read; the caller removes it.
 *
 * @throws `storage_unavailable` if it cannot be created.
 */
export async function makePrivateFolder(name: string): Promise<string> {
  try {
    return await mkdtemp(join(tmpdir(), `${name}-`));
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    const text = `cannot create a temporary folder (set TMPDIR to change where): ${reason}`;
    throw new AlmanacError('storage_unavailable', text, { cause: error });
  }
}
