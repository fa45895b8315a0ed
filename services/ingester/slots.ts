import type { Random } from '#shared/clock/random';
import { AlmanacError } from '#shared/errors/almanac-error';
import type { FileSystem } from '#shared/fs/file-system';
import { replaceFile } from '#shared/fs/replace-file';
import { makeDataFolder } from '#shared/node/data-folder';

/** An ingester's slot in a data folder: its identity and its log. Held until `release` or until the process ends. */
export interface Slot {
  readonly number: number;
  /** Created with the slot and never changed; metadata knows the node by it. */
  readonly identity: string;
  readonly folder: string;
  readonly walFolder: string;
  release(): void;
}

/** The only slot of a process that owns its data folder alone. */
export const STANDALONE_SLOT = '0';

const SLOTS_MAX = 1024;
/** Another process may hold the lock for an instant while it checks whether the slot is free. */
const CLAIM_TRIES = 3;
const IDENTITY_FILE = 'slot.json';

/** Data folder and surroundings in which slots are claimed. */
export interface SlotDeps {
  readonly dataFolder: string;
  readonly fs: FileSystem;
  readonly random: Random;
}

/**
 * Claims the first free slot of the data folder; creates one if there is none.
 *
 * @throws `illegal_state` if all slots are in use.
 */
export async function claimSlot(deps: SlotDeps): Promise<Slot> {
  for (let number = 0; number < SLOTS_MAX; number++) {
    const slot = await tryClaim(number, deps);
    if (slot !== undefined) return slot;
  }
  throw new AlmanacError(
    'illegal_state',
    `data folder "${deps.dataFolder}" has ${SLOTS_MAX} ingesters, which is the maximum`,
  );
}

async function tryClaim(number: number, { dataFolder, fs, random }: SlotDeps): Promise<Slot | undefined> {
  const folder = slotFolder(dataFolder, number);
  await makeDataFolder(fs, folder);
  for (let attempt = 0; attempt < CLAIM_TRIES; attempt++) {
    const unlock = fs.tryLock(folder);
    if (unlock === undefined) continue;
    try {
      const identity = (await readIdentity(folder, fs)) ?? (await makeIdentity(folder, fs, random));
      return { number, identity, folder, walFolder: walFolderOf(folder), release: unlock };
    } catch (error) {
      unlock();
      throw error;
    }
  }
  return undefined;
}

/** Claims the slot with this identity. Returns undefined if the folder does not have it or another process holds it. */
export async function claimSlotOf(identity: string, { dataFolder, fs }: SlotDeps): Promise<Slot | undefined> {
  // Found before the lock is tried, so that other slots are left alone.
  const number = await findSlot(identity, dataFolder, fs);
  if (number === undefined) return undefined;
  const folder = slotFolder(dataFolder, number);
  const unlock = fs.tryLock(folder);
  if (unlock === undefined) return undefined;
  return { number, identity, folder, walFolder: walFolderOf(folder), release: unlock };
}

/** Returns the log folder of the slot with this identity, whether or not a process holds the slot. */
export async function findWalFolder(identity: string, dataFolder: string, fs: FileSystem): Promise<string | undefined> {
  const number = await findSlot(identity, dataFolder, fs);
  return number === undefined ? undefined : walFolderOf(slotFolder(dataFolder, number));
}

async function findSlot(identity: string, dataFolder: string, fs: FileSystem): Promise<number | undefined> {
  for (const name of await fs.list(`${dataFolder}/slots`)) {
    if ((await readIdentity(`${dataFolder}/slots/${name}`, fs)) === identity) return Number(name);
  }
  return undefined;
}

function walFolderOf(folder: string): string {
  return `${folder}/wal`;
}

function slotFolder(dataFolder: string, number: number): string {
  return `${dataFolder}/slots/${number}`;
}

/**
 * Returns the identity of a slot, or undefined if it has none yet.
 *
 * @throws `storage_unavailable` if its file has no identity.
 */
export async function readIdentity(folder: string, fs: FileSystem): Promise<string | undefined> {
  const path = `${folder}/${IDENTITY_FILE}`;
  if ((await fs.size(path)) === undefined) return undefined;
  const identity = parseIdentity(new TextDecoder().decode(await fs.readFile(path)));
  if (typeof identity === 'string' && identity !== '') return identity;
  throw new AlmanacError('storage_unavailable', `"${path}" contains no identity`);
}

function parseIdentity(text: string): unknown {
  try {
    return (JSON.parse(text) as { identity?: unknown } | null)?.identity;
  } catch {
    // The caller reports it.
    return undefined;
  }
}

async function makeIdentity(folder: string, fs: FileSystem, random: Random): Promise<string> {
  const identity = Buffer.from(random.bytes(16)).toString('hex');
  await replaceFile(fs, `${folder}/${IDENTITY_FILE}`, `${JSON.stringify({ identity })}\n`);
  await fs.syncFolder(folder);
  return identity;
}
