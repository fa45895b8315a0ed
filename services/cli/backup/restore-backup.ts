import { CatalogFile } from '#services/metadata/index';
import type { FileSystem } from '#shared/fs/file-system';
import { LOCK_FILE, lockFolder } from '#shared/fs/folder-lock';
import { markRestore, RESTORE_MARK, unmarkRestore } from '#shared/node/unfinished-restore';

import { CommandFailure, EXIT } from '../command.js';
import { CATALOG_FILE, readList, STORE_FOLDER, type BackupList } from './list.js';
import { checkApart, checkEmpty, makeDurably } from './places.js';
import type { FileProgress } from '../progress.js';
import { removeFiles, syncFile, takeFiles } from './take-files.js';

/** Options of `restoreBackup`. */
export interface RestoreOptions {
  /** Absolute path of the backup. */
  readonly source: string;
  /** Absolute path of the new data folder. */
  readonly dataFolder: string;
  /** Whether segments may be hard links to the backup, which must not be changed then. */
  readonly mayLink: boolean;
  readonly progress: FileProgress;
  readonly fs: FileSystem;
}

/** Result of a restore. */
export interface RestoredBackup {
  readonly begun: string;
  readonly fileCount: number;
  readonly bytes: number;
}

/** What an unused folder may contain: a released lock, and the folder that a new file system has. */
const UNUSED_NAMES = [LOCK_FILE, `${LOCK_FILE}-journal`, 'lost+found'];

/**
 * Creates a data folder from a backup.
 *
 * The folder is marked before the first file is written, and no server starts in it until everything is complete and
 * durable. A killed restore leaves the mark, and the next one starts from scratch. A failed restore leaves nothing.
 *
 * The instance gets a new cluster ID, and its first server a new folder ID, so that it is distinguished from the original and
 * from other restores of the same backup, and all of them may run at the same time.
 *
 * @throws `CommandFailure` or `AlmanacError`.
 */
export async function restoreBackup(options: RestoreOptions): Promise<RestoredBackup> {
  const { source, dataFolder, fs } = options;
  const list = await readList(fs, source);
  await checkApart(source, dataFolder);
  await checkTarget(dataFolder, fs);
  await makeDurably(fs, dataFolder);
  const hadLock = (await fs.size(`${dataFolder}/${LOCK_FILE}`)) !== undefined;
  const unlock = lockFolder(dataFolder);
  try {
    // A server may have started in it before it was locked.
    await checkTarget(dataFolder, fs);
    await markRestore(fs, dataFolder);
    await removeFiles(fs, dataFolder);
    return await restore(list, options);
  } catch (error) {
    // The first failure is the one to report; the mark stays if this fails too.
    await undo(dataFolder, hadLock, fs).catch(() => undefined);
    throw error;
  } finally {
    unlock();
  }
}

async function restore(
  list: BackupList,
  { source, dataFolder, mayLink, fs, progress }: RestoreOptions,
): Promise<RestoredBackup> {
  const isCatalog = ({ path }: { readonly path: string }): boolean => path === CATALOG_FILE;
  const segments = list.files.filter((file) => !isCatalog(file));
  const catalogs = list.files.filter(isCatalog);
  const places = { fs, source, target: dataFolder, progress };
  const ofSegments = await takeFiles(segments, { ...places, mayLink });
  // The catalog is written to at once, so it is never linked.
  const ofCatalog = await takeFiles(catalogs, { ...places, mayLink: false });
  const catalog = await CatalogFile.own(`${dataFolder}/${CATALOG_FILE}`, fs);
  try {
    checkWhole(catalog, list, source);
    catalog.renewIdentity();
  } finally {
    catalog.close();
  }
  await syncFile(fs, `${dataFolder}/${CATALOG_FILE}`);
  await fs.syncFolder(`${dataFolder}/metadata`);
  // An instance without rows has no segments, but needs the folder.
  await fs.makeFolder(`${dataFolder}/${STORE_FOLDER}`);
  await unmarkRestore(fs, dataFolder);
  return { begun: list.begun, fileCount: list.files.length, bytes: ofSegments.bytes + ofCatalog.bytes };
}

/** A list that lost entries names fewer files than the catalog. */
function checkWhole(catalog: CatalogFile, { files }: BackupList, source: string): void {
  const listed = new Map(files.map((file) => [file.path, file]));
  const lacking = catalog.entries().find(({ path, bytes, crc32c }) => {
    const file = listed.get(`${STORE_FOLDER}/${path}`);
    return file?.bytes !== bytes || file.crc32c !== crc32c;
  });
  if (lacking === undefined) return;
  throw new CommandFailure(
    EXIT.failed,
    `error: the list of "${source}" does not have "${lacking.path}" as the catalog has`,
  );
}

/** Empties the folder again. */
async function undo(dataFolder: string, hadLock: boolean, fs: FileSystem): Promise<void> {
  if ((await fs.size(`${dataFolder}/${RESTORE_MARK}`)) === undefined) return;
  await removeFiles(fs, dataFolder);
  await unmarkRestore(fs, dataFolder);
  if (!hadLock) await fs.remove(`${dataFolder}/${LOCK_FILE}`);
}

/** A folder with the mark may contain files of an interrupted restore. */
async function checkTarget(folder: string, fs: FileSystem): Promise<void> {
  const isMarked = (await fs.size(`${folder}/${RESTORE_MARK}`)) !== undefined;
  const unfinished = [RESTORE_MARK, STORE_FOLDER, 'metadata'];
  await checkEmpty(fs, folder, isMarked ? [...UNUSED_NAMES, ...unfinished] : [...UNUSED_NAMES, `${RESTORE_MARK}.new`]);
}
