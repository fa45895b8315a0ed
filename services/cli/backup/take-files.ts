import { AlmanacError } from '#shared/errors/almanac-error';
import { copyFile } from '#shared/fs/copy-file';
import type { FileSystem } from '#shared/fs/file-system';
import { errorCode } from '#shared/fs/node-file-system';
import { tryLink } from '#shared/fs/try-link';
import { LocalStore, type PublishedFile } from '#shared/segments/local-store';

import type { FileProgress } from '../progress.js';
import { STORE_FOLDER, type BackupFile } from './list.js';

/** Concurrent files: while one is read, another is written. */
const FILES_AT_ONCE = 4;

/** Options of `takeFiles`. */
export interface TakeFilesOptions {
  readonly fs: FileSystem;
  /** Source folder; relative paths are the same in the target. */
  readonly source: string;
  readonly target: string;
  /** Whether files may be hard links to the same bytes, where the disk supports that. */
  readonly mayLink: boolean;
  readonly progress: FileProgress;
}

/** What `takeFiles` did. */
export interface CopiedFiles {
  readonly linked: number;
  readonly bytes: number;
}

/**
 * Copies or links files from one folder to another, and verifies each: linked files are read too, because a backup of damaged
 * files is worth nothing. Contents and names are durable when this resolves.
 *
 * @throws `storage_unavailable` naming a file that is missing or damaged.
 */
export async function takeFiles(files: readonly BackupFile[], options: TakeFilesOptions): Promise<CopiedFiles> {
  const { fs, target, progress } = options;
  progress.expect(files.length);
  const folders = foldersOf(files, target);
  for (const folder of folders) await fs.makeFolder(folder);
  let linked = 0;
  let bytes = 0;
  const waiting = [...files].reverse();
  const worker = async (): Promise<void> => {
    for (let file = waiting.pop(); file !== undefined; file = waiting.pop()) {
      if (await takeFile(file, options)) linked++;
      bytes += file.bytes;
      progress.done(file.bytes);
    }
  };
  try {
    await Promise.all(Array.from({ length: FILES_AT_ONCE }, worker));
  } finally {
    // The other workers stop after their present file.
    waiting.length = 0;
  }
  for (const folder of [...folders].reverse()) await fs.syncFolder(folder);
  return { linked, bytes };
}

/** Makes the contents of a file durable that another process has written. */
export async function syncFile(fs: FileSystem, path: string): Promise<void> {
  const file = await fs.open(path, 'update');
  try {
    await file.sync();
  } finally {
    await file.close();
  }
}

/** Removes what a backup or a restore has written to a folder, so that the same command can be repeated. */
export async function removeFiles(fs: FileSystem, folder: string): Promise<void> {
  await fs.removeFolder(`${folder}/${STORE_FOLDER}`);
  await fs.removeFolder(`${folder}/metadata`);
}

/** Copies or links one file. @returns whether it was linked. */
async function takeFile(file: BackupFile, { fs, source, target, mayLink }: TakeFilesOptions): Promise<boolean> {
  const [from, to] = [`${source}/${file.path}`, `${target}/${file.path}`];
  try {
    const isLinked = mayLink && (await tryLink(from, to));
    const found = isLinked ? await new LocalStore(target, fs).sum(file.path) : await copyFile(fs, from, to);
    compare(found, file, from);
    return isLinked;
  } catch (error) {
    if (errorCode(error) !== 'ENOENT') throw error;
    throw new AlmanacError('storage_unavailable', `"${from}" is missing`, { cause: error });
  }
}

function compare(found: PublishedFile, { bytes, crc32c }: BackupFile, path: string): void {
  if (found.bytes === bytes && found.crc32c === crc32c) return;
  const what = found.bytes === bytes ? 'its checksum does not match' : `it has ${found.bytes} bytes, not ${bytes}`;
  throw new AlmanacError('storage_unavailable', `"${path}" is damaged: ${what}`);
}

/** Returns the folders of the files and their parents, outermost first; `root` is the first. */
function foldersOf(files: readonly BackupFile[], root: string): string[] {
  const folders = new Set([root]);
  for (const { path } of files) {
    for (let at = path.indexOf('/'); at >= 0; at = path.indexOf('/', at + 1)) {
      folders.add(`${root}/${path.slice(0, at)}`);
    }
  }
  return [...folders].sort((a, b) => a.length - b.length);
}
