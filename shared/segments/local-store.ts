import { crc32c } from '#shared/bytes/crc32c';
import { AlmanacError } from '#shared/errors/almanac-error';
import { diskError } from '#shared/fs/disk-error';
import type { FileStamp, FileSystem, OpenFile } from '#shared/fs/file-system';
import { errorCode } from '#shared/fs/node-file-system';
import type { DamageLog } from './damage-log.js';

/** Most files are small, and clearing a large buffer costs more than reading them. */
const FIRST_READ_BYTES = 1 << 16;
const READ_BYTES = 1 << 20;

/** A published file: its size and checksum as the manifest stores them. */
export interface PublishedFile {
  readonly bytes: number;
  readonly crc32c: number;
}

/** A file named in a manifest does not exist: the manifest is outdated, or the file is lost. */
export class MissingFile extends AlmanacError {
  constructor(path: string, cause: unknown) {
    super('storage_unavailable', `"${path}" is missing`, { cause });
  }
}

/** Segments in a folder of this machine. Segment paths are relative to it and never reused. */
export class LocalStore {
  readonly root: string;
  readonly #fs: FileSystem;
  readonly #damage: DamageLog | undefined;
  /** Folders whose names are durable. */
  readonly #madeFolders = new Set<string>();

  /** @param damage receives files that fail verification. */
  constructor(root: string, fs: FileSystem, damage?: DamageLog) {
    this.root = root;
    this.#fs = fs;
    this.#damage = damage;
  }

  /** Returns the path of a segment on disk. */
  absolute(path: string): string {
    return `${this.root}/${path}`;
  }

  /**
   * Moves a finished file into the store. Contents and name are durable when this resolves; if it fails, the scratch file
   * is removed.
   *
   * @param scratchPath a file on the same disk; the engine that wrote it does not sync.
   */
  async publish(scratchPath: string, path: string): Promise<PublishedFile> {
    try {
      const published = await this.#syncAndSum(scratchPath);
      const folder = path.slice(0, path.lastIndexOf('/'));
      await this.#makeFolder(folder);
      await this.#fs.rename(scratchPath, this.absolute(path));
      await this.#fs.syncFolder(this.absolute(folder));
      return published;
    } catch (error) {
      await this.#fs.remove(scratchPath).catch(() => undefined);
      throw error;
    }
  }

  /** Opens a segment for reading; the caller closes it. @throws `MissingFile` if it does not exist. */
  async open(path: string): Promise<OpenFile> {
    try {
      return await this.#fs.open(this.absolute(path), 'read');
    } catch (error) {
      throw errorCode(error) === 'ENOENT' ? new MissingFile(path, error) : diskError(error, `"${path}" cannot be read`);
    }
  }

  /** Computes size and checksum of a segment on disk. */
  async sum(path: string): Promise<PublishedFile> {
    const file = await this.#fs.open(this.absolute(path), 'read');
    try {
      return await sumFile(file);
    } finally {
      await file.close();
    }
  }

  /**
   * Compares a file with its entry in the manifest: a flipped bit in a Parquet file mostly yields wrong values without an
   * error.
   *
   * @throws `storage_unavailable` naming the file if it is damaged or unreadable, `MissingFile` if it does not exist.
   */
  async verify(file: PublishedFile & { readonly path: string }): Promise<void> {
    try {
      await this.#verify(file);
    } catch (error) {
      this.#damage?.report(file.path, error);
      throw error;
    }
    this.#damage?.remove(file.path);
  }

  /** Returns a stamp that changes when the file is written or replaced; undefined if it does not exist or is unreadable. */
  stamp(path: string): FileStamp | undefined {
    try {
      return this.#fs.stampSync(this.absolute(path));
    } catch {
      // `verify` reports the reason.
      return undefined;
    }
  }

  /**
   * Prevents the collection of files until the returned function is called or the process exits. The collector holds the
   * same lock.
   *
   * @returns undefined if another process holds the lock.
   */
  tryHold(): (() => void) | undefined {
    return this.#fs.tryLock(this.root);
  }

  /** Deletes a segment; no error if it does not exist. */
  remove(path: string): Promise<void> {
    return this.#fs.remove(this.absolute(path));
  }

  /** Returns when a segment was written, milliseconds since 1970; undefined if it does not exist. */
  modifiedMs(path: string): Promise<number | undefined> {
    return this.#fs.modifiedMs(this.absolute(path));
  }

  /** Lists the paths of the files in a folder of the store. */
  async list(folder: string): Promise<string[]> {
    return (await this.#fs.list(this.absolute(folder))).map((name) => `${folder}/${name}`);
  }

  async #verify({ path, bytes, crc32c }: PublishedFile & { readonly path: string }): Promise<void> {
    const found = await this.sum(path).catch((error: unknown) => {
      throw errorCode(error) === 'ENOENT' ? new MissingFile(path, error) : diskError(error, `"${path}" cannot be read`);
    });
    if (found.bytes === bytes && found.crc32c === crc32c) return;
    throw new AlmanacError('storage_unavailable', `"${path}" is damaged: its checksum does not match`);
  }

  async #syncAndSum(path: string): Promise<PublishedFile> {
    const file = await this.#fs.open(path, 'update');
    try {
      await file.sync();
      return await sumFile(file);
    } finally {
      await file.close();
    }
  }

  async #makeFolder(folder: string): Promise<void> {
    if (this.#madeFolders.has(folder)) return;
    await this.#fs.makeFolder(this.absolute(folder));
    // Each level's name must be durable before a segment below it is committed.
    for (let at = folder.lastIndexOf('/'); at >= 0; at = folder.lastIndexOf('/', at - 1)) {
      await this.#fs.syncFolder(this.absolute(folder.slice(0, at)));
      if (at === 0) break;
    }
    await this.#fs.syncFolder(this.root);
    this.#madeFolders.add(folder);
  }
}

async function sumFile(file: { read(target: Uint8Array, at: number): Promise<number> }): Promise<PublishedFile> {
  let block = new Uint8Array(FIRST_READ_BYTES);
  let bytes = 0;
  let sum = 0;
  for (;;) {
    const read = await file.read(block, bytes);
    if (read === 0) return { bytes, crc32c: sum };
    sum = crc32c(block.subarray(0, read), sum);
    bytes += read;
    if (read === block.length && read < READ_BYTES) block = new Uint8Array(READ_BYTES);
  }
}
