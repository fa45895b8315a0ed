import { AlmanacError } from '#shared/errors/almanac-error';
import type { FileSystem } from '#shared/fs/file-system';
import { replaceFile } from '#shared/fs/replace-file';

/** File in a data folder while a backup is restored into it: created before the first file, removed after the last. */
export const RESTORE_MARK = 'restore.unfinished';

const TEXT =
  'A backup is being restored into this folder, or the restore was interrupted: run almanac restore again.\n';

/** Marks the folder as incomplete; durable when this resolves. */
export async function markRestore(fs: FileSystem, folder: string): Promise<void> {
  await replaceFile(fs, `${folder}/${RESTORE_MARK}`, TEXT);
  await fs.syncFolder(folder);
}

/** Removes the mark durably. Everything else in the folder must be durable by then. */
export async function unmarkRestore(fs: FileSystem, folder: string): Promise<void> {
  await fs.remove(`${folder}/${RESTORE_MARK}`);
  await fs.syncFolder(folder);
}

/**
 * Refuses a data folder with an incomplete restore, which a server would take for an instance without data. Called before
 * anything is opened in it.
 *
 * @throws `illegal_state` if a restore into the folder is incomplete.
 */
export async function refuseUnfinishedRestore(fs: FileSystem, folder: string): Promise<void> {
  if ((await fs.size(`${folder}/${RESTORE_MARK}`)) === undefined) return;
  const text = `a restore into the data folder "${folder}" is running or was interrupted: run it again`;
  throw new AlmanacError('illegal_state', text);
}
