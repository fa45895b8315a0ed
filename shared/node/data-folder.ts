import type { Clock } from '#shared/clock/clock';
import type { Random } from '#shared/clock/random';
import { AlmanacError } from '#shared/errors/almanac-error';
import type { FileSystem } from '#shared/fs/file-system';
import { replaceFile } from '#shared/fs/replace-file';

import { expectStartable } from './startable-folder.js';

/** Dependencies of `DataFolder.open`. */
export interface DataFolderDeps {
  readonly fs: FileSystem;
  readonly clock: Clock;
  readonly random: Random;
  /** The expected identity, if the catalog is at hand: quoted in errors about a damaged file, never written. */
  readonly known?: Identity;
}

/** Contents of the identity file. */
export interface Identity {
  readonly folderId: string;
  /** Empty until an ingester has joined a cluster with the folder. */
  readonly clusterId: string;
}

const FILE = 'folder.json';
const ID = /^[0-9a-f]{32}$/;
/** Pause between attempts; the lock is held only while one small file is written. */
const LOCK_REST_MS = 20;
const LOCK_MS_MAX = 5_000;

/**
 * The folder that the processes of a cluster share. Its identity is a random ID in `identity/folder.json`, created by the
 * first process that opens it, and the cluster that it belongs to.
 *
 * Copies of the folder have the same identity.
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
   * Opens the folder, and creates it and its identity if necessary.
   *
   * @throws `storage_unavailable` if it cannot be created or written, or its identity file is damaged;
   *   `illegal_state` if it is a backup, or while a backup is being restored into it.
   */
  static async open(path: string, deps: DataFolderDeps): Promise<DataFolder> {
    await makeDataFolder(deps.fs, path);
    await expectStartable(deps.fs, path);
    return new DataFolder(path, await identify(path, deps), deps);
  }

  /** ID of the cluster that the folder belongs to; empty if none. */
  get clusterId(): string {
    return this.#clusterId;
  }

  /** Binds the folder to the cluster that this process joined. @throws `illegal_state` if it belongs to another one. */
  async bind(clusterId: string): Promise<void> {
    // Metadata of an earlier release reports no cluster ID.
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
 * Reads the identity of a data folder without changing it; undefined if it has none yet.
 *
 * @throws `storage_unavailable` if it cannot be read.
 */
export function identityOfDataFolder(folder: string, fs: FileSystem): Promise<Identity | undefined> {
  return readIdentity(folder, fs);
}

/** Does the same for callers that report the path and the remedy themselves. @returns a predicate if it cannot be read. */
export async function inspectIdentity(folder: string, fs: FileSystem): Promise<Identity | string | undefined> {
  let text: string | undefined;
  try {
    text = await identityFile(folder, fs);
  } catch (error) {
    return `cannot be read: ${error instanceof Error ? error.message : String(error)}`;
  }
  return text === undefined ? undefined : (parseIdentity(text) ?? IS_DAMAGED);
}

const IS_DAMAGED = 'is damaged or was not written by Almanac';

/** Returns the contents of `identity/folder.json`. */
export function identityText({ folderId, clusterId }: Identity): string {
  return JSON.stringify({ folderId, clusterId });
}

/** Creates a data folder or a folder in it. @throws `storage_unavailable` with its name, for example if it is read-only. */
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
    // The process that created the file may have died before it was durable; other nodes may rely on it from now on.
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
      throw new AlmanacError(
        'illegal_state',
        `"${place}" has been locked by another process for ${LOCK_MS_MAX / 1000} s: stop that process`,
      );
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
