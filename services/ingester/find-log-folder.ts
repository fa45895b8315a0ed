import { AlmanacError } from '#shared/errors/almanac-error';
import type { FileSystem } from '#shared/fs/file-system';

import { findLogProblem } from './log-identity.js';
import { findWalFolder, STANDALONE_SLOT } from './slots.js';
import { listWalFiles } from './wal/wal-files.js';

/** Node whose log is wanted, as metadata knows it. */
export interface LogOwner {
  readonly nodeId: number;
  readonly role: string;
  readonly slot: string;
}

/** Data folder and configuration that determine where logs are. */
export interface LogLocation {
  readonly dataFolder: string;
  /** The node's `wal.dir`. */
  readonly walDir: string | undefined;
  readonly fs: FileSystem;
}

/**
 * Returns the log folder of a node that owns regions, as seen from another process.
 *
 * @throws `illegal_state` if there is no log: a running node always has one.
 */
export async function findLogFolder(owner: LogOwner, place: LogLocation): Promise<string> {
  const { nodeId, role, slot } = owner;
  const folder = await expectedLogFolder(slot, place);
  if (folder !== undefined && (await hasLog(folder, slot, place))) return folder;
  const where = folder === undefined ? `in a slot of "${place.dataFolder}"` : `in "${folder}"`;
  const text =
    `the write-ahead log of node ${nodeId} (${role}, slot ${slot}) is not ${where}: ` +
    'storage.data_home and wal.dir must be set as they are for that node';
  throw new AlmanacError('illegal_state', text);
}

async function hasLog(walFolder: string, slot: string, { dataFolder, fs }: LogLocation): Promise<boolean> {
  if ((await listWalFiles(fs, walFolder)).length === 0) return false;
  return (await findLogProblem({ dataFolder, slot, walFolder, fs })) === undefined;
}

/**
 * Returns the folder where the log of a slot should be, or undefined if the data folder has no slot with this identity.
 */
export async function expectedLogFolder(
  slot: string,
  { dataFolder, walDir, fs }: LogLocation,
): Promise<string | undefined> {
  if (slot === STANDALONE_SLOT) return walDir ?? `${dataFolder}/slots/${slot}/wal`;
  return walDir === undefined ? findWalFolder(slot, dataFolder, fs) : `${walDir}/${slot}`;
}
