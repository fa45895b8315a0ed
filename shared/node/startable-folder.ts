import { AlmanacError } from '#shared/errors/almanac-error';
import type { FileSystem } from '#shared/fs/file-system';

import { refuseUnfinishedRestore } from './unfinished-restore.js';

/** File that marks a folder as a complete backup (docs/formats/backup.md). */
export const BACKUP_LIST = 'backup.json';

/**
 * Refuses folders that a server must not write to. Called before anything is written to a data folder.
 *
 * @throws `illegal_state` if the folder is a backup, which has the layout of a data folder but must not change, or if a
 *   restore into it is incomplete.
 */
export async function expectStartable(fs: FileSystem, folder: string): Promise<void> {
  await refuseUnfinishedRestore(fs, folder);
  if ((await fs.size(`${folder}/${BACKUP_LIST}`)) === undefined) return;
  const remedy = `make a data folder of it: almanac restore "${folder}" --data-dir FOLDER`;
  throw new AlmanacError(
    'illegal_state',
    `"${folder}" is a backup (it has ${BACKUP_LIST}), which must not change: ${remedy}`,
  );
}
