import { crc32c } from '#shared/bytes/crc32c';
import { AlmanacError } from '#shared/errors/almanac-error';
import { diskError } from '#shared/fs/disk-error';
import type { FileStamp, FileSystem } from '#shared/fs/file-system';
import { errorCode } from '#shared/fs/node-file-system';
import type { DamageLog } from './damage-log.js';

/** Most files are small, and a large block costs more to clear than they cost to read. */
const FIRST_READ_BYTES = 1 << 16;
const READ_BYTES = 1 << 20;

/** A file that was published: its size and checksum as the manifest keeps them. */
export interface PublishedFile {
  readonly bytes: number;
  readonly crc32c: number;
}

/** A file that a manifest names is not there: the manifest is too old, or the file is lost. */
export class MissingFile extends AlmanacError {
  constructor(path: string, cause: unknown) {
    super('storage_unavailable', `"${path}" is missing`, { cause });
  }
}

/** Segments in a folder of this machine. Paths of segments are relative to it and unique for ever. */
export class LocalStore {
  readonly root: string;
  readonly #fs: FileSystem;
  readonly #damage: DamageLog | undefined;
  /** Folders whose names are durable. */
  readonly #madeFolders = new Set<string>();

  /** @param damage is told of files that do not verify. */
  constructor(root: string, fs: FileSystem, damage?: DamageLog) {
    this.root = root;
    this.#fs = fs;
    this.#damage = damage;
  }

  /** Where a segment lies on the disk. */
  absolute(path: string): string {
    return `${this.root}/${path}`;
  }

  /**
   * Moves a finished file into the store. When this resolves, contents and name are durable; if it fails, the scratch
   * file is gone.
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

  /** Size and checksum of a segment as it lies on the disk. */
  async sum(path: string): Promise<PublishedFile> {
    const file = await this.#fs.open(this.absolute(path), 'read');
    try {
      return await sumFile(file);
    } finally {
      await file.close();
    }
  }

  /**
   * Compares a file with what the manifest says of it: a flipped bit in a Parquet file gives wrong values without an
   * error more often than not.
   *
   * @throws `storage_unavailable` naming the file if it is damaged or cannot be read, `MissingFile` if it is not there.
   */
  async verify(file: PublishedFile & { readonly path: string }): Promise<void> {
    try {
      await this.#verify(file);
    } catch (error) {
      this.#damage?.tell(file.path, error);
      throw error;
    }
    this.#damage?.forget(file.path);
  }

  /** What changes when a file is written or replaced; undefined if it is gone or cannot be looked at. */
  stamp(path: string): FileStamp | undefined {
    try {
      return this.#fs.stampSync(this.absolute(path));
    } catch {
      // Why that is, `verify` says.
      return undefined;
    }
  }

  /**
   * Sees that no file is collected until the returned function is called or the process ends. Whoever collects files
   * holds them meanwhile, too.
   *
   * @returns undefined if another process holds them.
   */
  tryHold(): (() => void) | undefined {
    return this.#fs.tryLock(this.root);
  }

  /** Deletes a segment; no error if it is gone. */
  remove(path: string): Promise<void> {
    return this.#fs.remove(this.absolute(path));
  }

  /** When a segment was written, milliseconds since 1970; undefined if it is gone. */
  modifiedMs(path: string): Promise<number | undefined> {
    return this.#fs.modifiedMs(this.absolute(path));
  }

  /** Paths of the files in a folder of the store. */
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
