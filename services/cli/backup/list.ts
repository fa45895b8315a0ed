/**
 * `backup.json`, the list of the files of a backup (docs/formats/backup.md). It is written last: a folder without it is not a
 * backup, whatever else it contains.
 */
import type { FileSystem } from '#shared/fs/file-system';
import { replaceFile } from '#shared/fs/replace-file';
import { BACKUP_LIST } from '#shared/node/startable-folder';

import { CommandFailure, EXIT } from '../command.js';

/** Path of the catalog in a data folder, and so in a backup. */
export const CATALOG_FILE = 'metadata/almanac.db';
/** Folder of the segments in a data folder, and so in a backup. */
export const STORE_FOLDER = 'store';

const FORMAT = 1;

/** One file of a backup. */
export interface BackupFile {
  /** Relative to the backup, as in a data folder; separated by `/`. */
  readonly path: string;
  readonly bytes: number;
  readonly crc32c: number;
}

/** Contents of `backup.json`. */
export interface BackupList {
  /** RFC 3339; every row acknowledged before this time is in the backup. */
  readonly begun: string;
  /** Release that wrote it. */
  readonly version: string;
  /** Cluster ID of the instance that was backed up. */
  readonly clusterId: string;
  readonly catalogVersion: string;
  readonly files: readonly BackupFile[];
}

/** Writes the list; contents and name are durable when this resolves. */
export async function writeList(fs: FileSystem, folder: string, list: BackupList): Promise<void> {
  const { begun, version, clusterId, catalogVersion, files } = list;
  const head = JSON.stringify({ format: FORMAT, begun, version, clusterId, catalogVersion }).slice(0, -1);
  // One line per file, so that a list of a hundred thousand stays readable.
  const lines = files.map(({ path, bytes, crc32c }) => JSON.stringify({ path, bytes, crc32c }));
  await replaceFile(fs, `${folder}/${BACKUP_LIST}`, `${head},"files":[\n${lines.join(',\n')}\n]}\n`);
  await fs.syncFolder(folder);
}

/** Reads the list. @throws `CommandFailure` if the folder is not a complete backup, or its list is unusable. */
export async function readList(fs: FileSystem, folder: string): Promise<BackupList> {
  const path = `${folder}/${BACKUP_LIST}`;
  if ((await fs.size(path)) === undefined) {
    const text = `error: "${folder}" is not a complete backup: it has no ${BACKUP_LIST}`;
    throw new CommandFailure(EXIT.failed, text);
  }
  const list = parseList(new TextDecoder().decode(await fs.readFile(path)));
  if (typeof list !== 'string') return list;
  throw new CommandFailure(EXIT.failed, `error: "${path}" ${list}`);
}

/** Parses the list. @returns what is wrong with it otherwise. */
function parseList(text: string): BackupList | string {
  let found: unknown;
  try {
    found = JSON.parse(text);
  } catch {
    return 'is damaged: it is not JSON';
  }
  if (typeof found !== 'object' || found === null) return 'is damaged: it is not an object';
  const { format, ...list } = found as Partial<BackupList> & { readonly format?: unknown };
  if (format !== FORMAT) return `has format ${String(format)}, this release supports ${FORMAT}: use a newer release`;
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

/** Names of segments, which cannot lead out of the folder. */
const STORE_PATH = /^store\/\d+\/\d+\/\d+\/[a-z0-9-]+\.parquet$/;

function isFile(file: unknown): file is BackupFile {
  if (typeof file !== 'object' || file === null) return false;
  const { path, bytes, crc32c } = file as Partial<Record<keyof BackupFile, unknown>>;
  if (typeof path !== 'string' || (path !== CATALOG_FILE && !STORE_PATH.test(path))) return false;
  return Number.isSafeInteger(bytes) && Number.isSafeInteger(crc32c);
}
