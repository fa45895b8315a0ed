import { dirname } from 'node:path';

import type { Random } from '#shared/clock/random';
import { AlmanacError } from '#shared/errors/almanac-error';
import type { Problem } from '#shared/errors/problem';
import { diskError } from '#shared/fs/disk-error';
import type { FileSystem } from '#shared/fs/file-system';
import { removeUnfinished, replaceFile } from '#shared/fs/replace-file';
import type { Logger } from '#shared/telemetry/log';

/** A slot of a data folder, and where its log should be. */
export interface SlotLog {
  readonly dataFolder: string;
  /** Identity of the slot. */
  readonly slot: string;
  readonly walFolder: string;
  readonly fs: FileSystem;
}

/** What `verifyLog` needs. */
export interface VerifyLogDeps extends SlotLog {
  readonly recover: 'strict' | 'skip-corrupt';
  readonly random: Random;
  readonly log: Logger;
}

/** File in the log's folder that holds the log's id. */
export const LOG_ID_FILE = 'log.json';
const RECORD = /^log-(.+)\.json$/;
const ID = /^[0-9a-f]{32}$/;

/**
 * Verifies that a log is the one that the slot's rows were written to. Otherwise a log on a disk that is not mounted,
 * or under another `wal.dir`, would count as empty, and rows that are only in the right log would be lost for good once
 * their sequences are assigned again.
 *
 * The log has an id in `log.json`, and the data folder has the same id in `identity/log-<slot>.json`. Both are created
 * at the first start. The caller holds the slot.
 *
 * @throws `storage_unavailable` if the log is missing or another one; with `skip-corrupt` it becomes the slot's log
 *   instead.
 */
export async function verifyLog(deps: VerifyLogDeps): Promise<void> {
  const { dataFolder, walFolder, fs, random, recover, log } = deps;
  try {
    const problem = await findLogProblem(deps);
    if (problem !== undefined) {
      const { path, what, lost, remedy } = problem;
      const text = `"${path}" ${what}: ${remedy}; or start with wal.recover = "skip-corrupt" to lose ${lost}`;
      if (recover === 'strict') throw new AlmanacError('storage_unavailable', text);
      log.error({ file: path, what, lost }, 'another write-ahead log is used from now on');
    }
    await removeUnfinished(fs, `${walFolder}/${LOG_ID_FILE}`);
    const recorded = problem === undefined ? await readId(recordPath(deps), fs) : undefined;
    if (recorded !== undefined) return;
    let id = await readId(`${walFolder}/${LOG_ID_FILE}`, fs);
    if (id === undefined) {
      id = Buffer.from(random.bytes(16)).toString('hex');
      await fs.makeFolder(walFolder);
      await writeId(`${walFolder}/${LOG_ID_FILE}`, id, fs);
      await fs.syncFolder(dirname(walFolder));
    }
    // Written last: once the id is recorded, the log must be there.
    await fs.makeFolder(`${dataFolder}/identity`);
    await writeId(recordPath(deps), id, fs);
    await fs.syncFolder(dataFolder);
  } catch (error) {
    throw diskError(error, `the write-ahead log in "${walFolder}" cannot be used`);
  }
}

/**
 * Removes the record of a log's id before the log is deleted because segments have all its rows. The slot gets a new
 * log.
 */
export async function removeLogRecord(slot: SlotLog): Promise<void> {
  await slot.fs.remove(recordPath(slot));
  await slot.fs.syncFolder(`${slot.dataFolder}/identity`);
}

/** Returns what is wrong if the slot's log is not in its folder. */
export async function findLogProblem(slot: SlotLog): Promise<Problem | undefined> {
  const { dataFolder, walFolder, fs } = slot;
  const record = recordPath(slot);
  const path = `${walFolder}/${LOG_ID_FILE}`;
  if ((await fs.size(record)) === undefined) return undefined;
  const lost = 'the rows that are in no segment yet';
  const recorded = await readId(record, fs);
  if (recorded === undefined) {
    const remedy = `put it back, or remove it if the log in "${walFolder}" is the right one`;
    return { path: record, what: 'cannot be read', lost, remedy };
  }
  const present = await readId(path, fs);
  if (present === recorded) return undefined;
  const found = present === undefined ? 'is missing or damaged' : `names the log ${present}`;
  return {
    path,
    what: `${found}, "${dataFolder}" has rows in the log ${recorded}`,
    lost,
    remedy:
      'mount its disk, or set wal.dir as it was; ' +
      `if the log in this folder is the right one, write ${recordText(recorded)} into the file`,
  };
}

/** Returns the identities of all slots that have, or had, a log. */
export async function slotsWithLogs(dataFolder: string, fs: FileSystem): Promise<string[]> {
  const names = await fs.list(`${dataFolder}/identity`);
  return names.flatMap((name) => RECORD.exec(name)?.[1] ?? []);
}

function recordPath({ dataFolder, slot }: SlotLog): string {
  return `${dataFolder}/identity/log-${slot}.json`;
}

function recordText(logId: string): string {
  return JSON.stringify({ logId });
}

async function writeId(path: string, id: string, fs: FileSystem): Promise<void> {
  await replaceFile(fs, path, `${recordText(id)}\n`);
  await fs.syncFolder(dirname(path));
}

/** Returns undefined if the file is missing or has no valid id. */
async function readId(path: string, fs: FileSystem): Promise<string | undefined> {
  if ((await fs.size(path)) === undefined) return undefined;
  const text = new TextDecoder().decode(await fs.readFile(path));
  try {
    const { logId } = JSON.parse(text) as { readonly logId?: unknown };
    return typeof logId === 'string' && ID.test(logId) ? logId : undefined;
  } catch {
    return undefined;
  }
}
