import type { Clock } from '#shared/clock/clock';
import type { Random } from '#shared/clock/random';
import { AlmanacError } from '#shared/errors/almanac-error';
import type { FileSystem } from '#shared/fs/file-system';
import { replaceFile } from '#shared/fs/replace-file';

import { expectStartable } from './startable-folder.js';

export interface DataFolderDeps {
  readonly fs: FileSystem;
  readonly clock: Clock;
  readonly random: Random;
  /** What the identity should be, where the catalog is at hand: to be named if the file is damaged, never to be written. */
  readonly known?: Identity;
}

/** What the identity file says. */
export interface Identity {
  readonly folderId: string;
  /** Empty until an ingester has joined a cluster with the folder. */
  readonly clusterId: string;
}

const FILE = 'folder.json';
const ID = /^[0-9a-f]{32}$/;
/** Others hold the lock only while they write one small file. */
const LOCK_REST_MS = 20;
const LOCK_MS_MAX = 5_000;

/**
 * The folder that the processes of a cluster share, with an identity of its own: a random number in `identity/folder.json`,
 * made by the first process that opens it, and the cluster that it belongs to.
 *
 * Copies of the folder have its identity.
 */
export class DataFolder {
  readonly path: string;
  readonly id: string;
  readonly #deps: DataFolderDeps;
  #clusterId: string;

  private constructor(path: string, { folderId, clusterId }: Identity, deps: DataFolderDeps) {
    this.path = path;
    this.id = folderId;
    this.#clusterId = clusterId;
    this.#deps = deps;
  }

  /**
   * Makes the folder and its identity if need be.
   *
   * @throws `storage_unavailable` if it cannot be made or written, or holds something else than an identity;
   *   `illegal_state` if it is a backup, or while one is being put back into it.
   */
  static async open(path: string, deps: DataFolderDeps): Promise<DataFolder> {
    await makeDataFolder(deps.fs, path);
    await expectStartable(deps.fs, path);
    return new DataFolder(path, await identify(path, deps), deps);
  }

  /** The cluster that the folder belongs to; empty if to none yet. */
  get clusterId(): string {
    return this.#clusterId;
  }

  /** Gives the folder to the cluster that took this process in. @throws `illegal_state` if it belongs to another one. */
  async bind(clusterId: string): Promise<void> {
    // Metadata of an earlier release does not tell.
    if (clusterId === '' || this.#clusterId === clusterId) return;
    const { path, id } = this;
    const bound = await underLock(path, this.#deps, async () => {
      const present = await readIdentity(path, this.#deps.fs);
      if (present !== undefined && present.clusterId !== '') return present.clusterId;
      await writeIdentity(path, { folderId: id, clusterId }, this.#deps.fs);
      return clusterId;
    });
    this.#clusterId = bound;
    if (bound === clusterId) return;
    const text = `data folder "${path}" (id ${id}) belongs to the cluster ${bound}, this process is part of ${clusterId}`;
    throw new AlmanacError('illegal_state', text);
  }
}

/**
 * The identity of a data folder that is only looked at; undefined if it has none yet.
 *
 * @throws `storage_unavailable` if it cannot be read.
 */
export function identityOfDataFolder(folder: string, fs: FileSystem): Promise<Identity | undefined> {
  return readIdentity(folder, fs);
}

/** The same for whoever tells the path, and what to do, himself. @returns a predicate if it cannot be read. */
export async function inspectIdentity(folder: string, fs: FileSystem): Promise<Identity | string | undefined> {
  let text: string | undefined;
  try {
    text = await identityFile(folder, fs);
  } catch (error) {
    return `cannot be read: ${error instanceof Error ? error.message : String(error)}`;
  }
  return text === undefined ? undefined : (parseIdentity(text) ?? IS_DAMAGED);
}

const IS_DAMAGED = 'is damaged or of something else than Almanac';

/** What `identity/folder.json` holds. */
export function identityText({ folderId, clusterId }: Identity): string {
  return JSON.stringify({ folderId, clusterId });
}

/** Makes a data folder, or a folder in it. @throws `storage_unavailable` with its name, for example if it is read-only. */
export async function makeDataFolder(fs: FileSystem, folder: string): Promise<void> {
  try {
    await fs.makeFolder(folder);
  } catch (error) {
    throw folderError(`data folder "${folder}" cannot be made`, error);
  }
}

async function identify(folder: string, deps: DataFolderDeps): Promise<Identity> {
  const { fs, random, known } = deps;
  const present = await readIdentity(folder, fs, known);
  if (present !== undefined) {
    // Whoever made it may not have come to that: what others hear of must not be lost.
    await syncNames(folder, fs);
    return present;
  }
  return underLock(folder, deps, async () => {
    const meanwhile = await readIdentity(folder, fs);
    if (meanwhile !== undefined) return meanwhile;
    const made = { folderId: Buffer.from(random.bytes(16)).toString('hex'), clusterId: '' };
    await writeIdentity(folder, made, fs);
    return made;
  });
}

async function underLock<T>(folder: string, { fs, clock }: DataFolderDeps, work: () => Promise<T>): Promise<T> {
  const place = `${folder}/identity`;
  try {
    await fs.makeFolder(place);
  } catch (error) {
    throw folderError(`data folder "${folder}" cannot be written`, error);
  }
  const endMs = clock.monotonicMs() + LOCK_MS_MAX;
  for (;;) {
    const unlock = fs.tryLock(place);
    if (unlock !== undefined) {
      try {
        return await work();
      } catch (error) {
        throw folderError(`data folder "${folder}" cannot be written`, error);
      } finally {
        unlock();
      }
    }
    if (clock.monotonicMs() > endMs) {
      throw new AlmanacError('illegal_state', `"${place}" has been locked by another process for ${LOCK_MS_MAX} ms`);
    }
    await clock.sleep(LOCK_REST_MS);
  }
}

async function readIdentity(folder: string, fs: FileSystem, known?: Identity): Promise<Identity | undefined> {
  const path = `${folder}/identity/${FILE}`;
  let text: string | undefined;
  try {
    text = await identityFile(folder, fs);
  } catch (error) {
    throw folderError(`"${path}" cannot be read`, error);
  }
  if (text === undefined) return undefined;
  const identity = parseIdentity(text);
  if (identity !== undefined) return identity;
  const named = known === undefined || known.folderId === '' ? 'what almanac check says' : identityText(known);
  const hint = `put the file back as it was, or if that is not possible, write ${named} into it`;
  throw new AlmanacError('storage_unavailable', `"${path}" ${IS_DAMAGED}: ${hint}`);
}

async function identityFile(folder: string, fs: FileSystem): Promise<string | undefined> {
  const path = `${folder}/identity/${FILE}`;
  if ((await fs.size(path)) === undefined) return undefined;
  return new TextDecoder().decode(await fs.readFile(path));
}

function parseIdentity(text: string): Identity | undefined {
  let found: unknown;
  try {
    found = JSON.parse(text);
  } catch {
    return undefined;
  }
  if (typeof found !== 'object' || found === null) return undefined;
  const { folderId, clusterId } = found as Partial<Record<keyof Identity, unknown>>;
  if (typeof folderId !== 'string' || !ID.test(folderId)) return undefined;
  if (typeof clusterId !== 'string' || (clusterId !== '' && !ID.test(clusterId))) return undefined;
  return { folderId, clusterId };
}

async function writeIdentity(folder: string, identity: Identity, fs: FileSystem): Promise<void> {
  await replaceFile(fs, `${folder}/identity/${FILE}`, `${identityText(identity)}\n`);
  await syncNames(folder, fs);
}

async function syncNames(folder: string, fs: FileSystem): Promise<void> {
  await fs.syncFolder(`${folder}/identity`);
  await fs.syncFolder(folder);
}

function folderError(what: string, error: unknown): AlmanacError {
  if (error instanceof AlmanacError) return error;
  const reason = error instanceof Error ? error.message : String(error);
  return new AlmanacError('storage_unavailable', `${what}: ${reason}`, { cause: error });
}
