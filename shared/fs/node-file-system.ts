import { constants, fdatasync, statSync, writev, type Stats } from 'node:fs';
import { dirname } from 'node:path';
import { mkdir, open, readdir, readFile, rename, rm, stat, unlink, type FileHandle } from 'node:fs/promises';
import { AlmanacError } from '#shared/errors/almanac-error';
import type { FileSystem, OpenFile, OpenMode } from './file-system.js';
import { tryLockFolder } from './folder-lock.js';
import { syncedFile } from './synced-file.js';

/** Other systems leave what such a write has written in the cache of the disk. */
const SYNCS_WRITES = process.platform === 'linux';
const { O_APPEND, O_CREAT, O_DSYNC, O_WRONLY } = constants;
const FLAGS: Readonly<Record<OpenMode, string | number>> = {
  read: 'r',
  append: 'a',
  log: SYNCS_WRITES ? O_APPEND | O_CREAT | O_WRONLY | O_DSYNC : 'a',
  update: 'r+',
};

/** The disk of the machine. */
export const nodeFileSystem: FileSystem = {
  async open(path, mode) {
    const file = new NodeFile(await open(path, FLAGS[mode]));
    return mode === 'log' && !SYNCS_WRITES ? syncedFile(file) : file;
  },
  readFile: async (path) => new Uint8Array(await readFile(path)),
  async list(folder) {
    try {
      return (await readdir(folder)).sort();
    } catch (error) {
      if (errorCode(error) === 'ENOENT') return [];
      throw error;
    }
  },
  size: async (path) => (await statOf(path))?.size,
  modifiedMs: async (path) => (await statOf(path))?.mtimeMs,
  stampSync(path) {
    const stats = statSync(path, { throwIfNoEntry: false });
    return stats && { bytes: stats.size, modifiedMs: stats.mtimeMs, inode: stats.ino };
  },
  makeFolder,
  rename,
  async remove(path) {
    try {
      await unlink(path);
    } catch (error) {
      if (errorCode(error) !== 'ENOENT') throw error;
    }
  },
  removeFolder: (path) => rm(path, { recursive: true, force: true }),
  tryLock: tryLockFolder,
  async syncFolder(path) {
    const folder = await open(path, 'r');
    try {
      await folder.sync();
    } finally {
      await folder.close();
    }
  },
};

/** Creates level by level, because Node's own recursion never ends below folders that accept no names, such as /proc. */
async function makeFolder(path: string): Promise<void> {
  try {
    await mkdir(path);
  } catch (error) {
    const code = errorCode(error);
    if (code === 'EEXIST' && (await stat(path)).isDirectory()) return;
    if (code !== 'ENOENT' || dirname(path) === path) throw error;
    await makeFolder(dirname(path));
    await mkdir(path).catch((again: unknown) => {
      if (errorCode(again) !== 'EEXIST') throw again;
    });
  }
}

async function statOf(path: string): Promise<Stats | undefined> {
  try {
    return await stat(path);
  } catch (error) {
    if (errorCode(error) === 'ENOENT') return undefined;
    throw error;
  }
}

/** The log appends and syncs by callbacks: methods of `FileHandle` cost some 10 us more a call. */
class NodeFile implements OpenFile {
  readonly #handle: FileHandle;
  /** Calls that use the file descriptor, which must not be closed meanwhile. */
  #callCount = 0;
  #onIdle: (() => void) | undefined = undefined;

  constructor(handle: FileHandle) {
    this.#handle = handle;
  }

  async append(parts: readonly Uint8Array[]): Promise<void> {
    let expected = 0;
    for (const part of parts) expected += part.byteLength;
    const bytesWritten = await this.#call<number>((done) => writev(this.#handle.fd, parts, done));
    if (bytesWritten !== expected) throw new ShortWrite(bytesWritten, expected);
  }

  async read(target: Uint8Array, position: number): Promise<number> {
    let done = 0;
    while (done < target.length) {
      const { bytesRead } = await this.#handle.read(target, done, target.length - done, position + done);
      if (bytesRead === 0) break;
      done += bytesRead;
    }
    return done;
  }

  syncData(): Promise<void> {
    return this.#call<undefined>((done) => fdatasync(this.#handle.fd, (error) => done(error, undefined)));
  }

  sync(): Promise<void> {
    return this.#handle.sync();
  }

  truncate(bytes: number): Promise<void> {
    return this.#handle.truncate(bytes);
  }

  async close(): Promise<void> {
    if (this.#callCount > 0) await new Promise<void>((resolve) => (this.#onIdle = resolve));
    await this.#handle.close();
  }

  #call<T>(start: (done: (error: Error | null, result: T) => void) => void): Promise<T> {
    return new Promise((resolve, reject) => {
      start((error, result) => {
        if (--this.#callCount === 0) this.#onIdle?.();
        if (error === null) resolve(result);
        else reject(error);
      });
      this.#callCount++;
    });
  }
}

/** Returns Node's code of a system error, for example `ENOENT`. */
export function errorCode(error: unknown): string | undefined {
  return error instanceof Error && 'code' in error && typeof error.code === 'string' ? error.code : undefined;
}

/** A short write, as a full disk causes. The rest is not retried, because the log's tail is then unknown. */
export class ShortWrite extends AlmanacError {
  constructor(writtenBytes: number, bytes: number) {
    super('storage_unavailable', `no space left on device: wrote ${writtenBytes} of ${bytes} bytes`);
  }
}
