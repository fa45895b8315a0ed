/**
 * `backup.json`, the list of what a backup holds (docs/formats/backup.md). It is written last: a folder without it is no
 * backup, however much lies in it.
 */
import type { FileSystem } from '#shared/fs/file-system';
import { replaceFile } from '#shared/fs/replace-file';
import { BACKUP_LIST } from '#shared/node/startable-folder';

import { CommandFailure, EXIT } from '../command.js';

/** Where a data folder, and so a backup, has its catalog and its segments. */
export const CATALOG_FILE = 'metadata/almanac.db';
export const STORE_FOLDER = 'store';

const FORMAT = 1;

export interface BackupFile {
  /** In the backup, as in a data folder; parts are separated by `/`. */
  readonly path: string;
  readonly bytes: number;
  readonly crc32c: number;
}

export interface BackupList {
  /** Every row that was acknowledged before is in the backup; RFC 3339. */
  readonly begun: string;
  /** Release that wrote it. */
  readonly version: string;
  /** Of the instance that was backed up. */
  readonly clusterId: string;
  readonly catalogVersion: string;
  readonly files: readonly BackupFile[];
}

/** Writes the list; contents and name are durable when this resolves. */
export async function writeList(fs: FileSystem, folder: string, list: BackupList): Promise<void> {
  const { begun, version, clusterId, catalogVersion, files } = list;
  const head = JSON.stringify({ format: FORMAT, begun, version, clusterId, catalogVersion }).slice(0, -1);
  // A line a file: a list of a hundred thousand can still be looked at.
  const lines = files.map(({ path, bytes, crc32c }) => JSON.stringify({ path, bytes, crc32c }));
  await replaceFile(fs, `${folder}/${BACKUP_LIST}`, `${head},"files":[\n${lines.join(',\n')}\n]}\n`);
  await fs.syncFolder(folder);
}

/** @throws `CommandFailure` if the folder is no backup, or one that was cut short, or its list cannot be used. */
export async function readList(fs: FileSystem, folder: string): Promise<BackupList> {
  const path = `${folder}/${BACKUP_LIST}`;
  if ((await fs.size(path)) === undefined) {
    const text = `error: "${folder}" is no backup, or one that was cut short: it has no ${BACKUP_LIST}`;
    throw new CommandFailure(EXIT.failed, text);
  }
  const list = parseList(new TextDecoder().decode(await fs.readFile(path)));
  if (typeof list !== 'string') return list;
  throw new CommandFailure(EXIT.failed, `error: "${path}" ${list}`);
}

/** @returns the list, or what is wrong with it. */
function parseList(text: string): BackupList | string {
  let found: unknown;
  try {
    found = JSON.parse(text);
  } catch {
    return 'is damaged: it is no JSON';
  }
  if (typeof found !== 'object' || found === null) return 'is damaged: it is no object';
  const { format, ...list } = found as Partial<BackupList> & { readonly format?: unknown };
  if (format !== FORMAT) return `has format ${String(format)}, this release knows ${FORMAT}: use a newer release`;
  if (!isList(list)) return 'is damaged: members are missing';
  const stranger = list.files.find((file) => !isFile(file));
  if (stranger !== undefined) return `is damaged: it has an entry ${JSON.stringify(stranger).slice(0, 200)}`;
  if (!list.files.some(({ path }) => path === CATALOG_FILE)) return `is damaged: it does not name ${CATALOG_FILE}`;
  return list;
}

function isList(list: Partial<BackupList>): list is BackupList {
  const texts = [list.begun, list.version, list.clusterId, list.catalogVersion];
  return texts.every((text) => typeof text === 'string') && Array.isArray(list.files);
}

/** Names that segments have, and no way out of the folder. */
const STORE_PATH = /^store\/\d+\/\d+\/\d+\/[a-z0-9-]+\.parquet$/;

function isFile(file: unknown): file is BackupFile {
  if (typeof file !== 'object' || file === null) return false;
  const { path, bytes, crc32c } = file as Partial<Record<keyof BackupFile, unknown>>;
  if (typeof path !== 'string' || (path !== CATALOG_FILE && !STORE_PATH.test(path))) return false;
  return Number.isSafeInteger(bytes) && Number.isSafeInteger(crc32c);
}
