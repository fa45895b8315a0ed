import { AlmanacError } from '#shared/errors/almanac-error';
import type { FileSystem } from '#shared/fs/file-system';
import { LOCK_FILE } from '#shared/fs/folder-lock';

import { identityOfDataFolder } from './data-folder.js';

/**
 * Refuses to create a catalog in a data folder whose catalog is missing: with an empty one, the existing data would be
 * invisible and its files would count as garbage. Called before metadata creates its catalog.
 *
 * @throws `illegal_state` if there is no catalog, but something that only a folder with one can contain.
 */
export async function refuseLostCatalog(fs: FileSystem, folder: string): Promise<void> {
  const path = `${folder}/metadata/almanac.db`;
  // SQLite creates an empty file first: a start that was killed then may be repeated.
  if (((await fs.size(path)) ?? 0) > 0) return;
  const cluster = (await identityOfDataFolder(folder, fs))?.clusterId ?? '';
  const whose = cluster === '' ? await storedIn(folder, fs) : `belongs to the cluster ${cluster}`;
  if (whose === undefined) return;
  const remedy =
    'put this file back, with everything that was beside it, from where metadata kept it, ' +
    'or restore a backup into an empty folder (almanac restore)';
  throw new AlmanacError('illegal_state', `data folder "${folder}" ${whose}, but "${path}" is missing: ${remedy}`);
}

async function storedIn(folder: string, fs: FileSystem): Promise<string | undefined> {
  const names = await fs.list(`${folder}/store`);
  return names.some((name) => name !== LOCK_FILE) ? 'has files in its store' : undefined;
}
