import { AlmanacError } from '#shared/errors/almanac-error';
import type { FileSystem } from '#shared/fs/file-system';
import { replaceFile } from '#shared/fs/replace-file';

/** Lies in a data folder from before the first file of a backup is put there until the last one is. */
export const RESTORE_MARK = 'restore.unfinished';

const TEXT = 'A backup is being put back into this folder, or that was cut short: run almanac restore again.\n';

/** Says in the folder that what it holds is not whole; durable when this resolves. */
export async function markRestore(fs: FileSystem, folder: string): Promise<void> {
  await replaceFile(fs, `${folder}/${RESTORE_MARK}`, TEXT);
  await fs.syncFolder(folder);
}

/** Takes the mark away, durably. Everything else in the folder must be durable by then. */
export async function unmarkRestore(fs: FileSystem, folder: string): Promise<void> {
  await fs.remove(`${folder}/${RESTORE_MARK}`);
  await fs.syncFolder(folder);
}

/**
 * To be asked before anything is opened in a data folder: a server would take what is not whole for an empty instance.
 *
 * @throws `illegal_state` if a restore into the folder has not come to its end.
 */
export async function refuseUnfinishedRestore(fs: FileSystem, folder: string): Promise<void> {
  if ((await fs.size(`${folder}/${RESTORE_MARK}`)) === undefined) return;
  const text = `a restore into the data folder "${folder}" is under way or was cut short: run it again`;
  throw new AlmanacError('illegal_state', text);
}
