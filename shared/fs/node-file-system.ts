import { statSync, type Stats } from 'node:fs';
import { dirname } from 'node:path';
import { mkdir, open, readdir, readFile, rename, rm, stat, unlink } from 'node:fs/promises';

import type { FileSystem, OpenMode } from './file-system.js';
import { tryLockFolder } from './folder-lock.js';
import { LogFile } from './log-file.js';
import { NodeFile } from './node-file.js';
import { syncedFile } from './synced-file.js';

/** Other systems leave what `O_DSYNC` has written in the cache of the disk. */
const SYNCS_WRITES = process.platform === 'linux';
const FLAGS: Readonly<Record<OpenMode, string>> = { read: 'r', append: 'a', log: 'a', update: 'r+' };

/** The disk of the machine. */
export const nodeFileSystem: FileSystem = {
  async open(path, mode) {
    if (mode === 'log' && SYNCS_WRITES) return LogFile.open(path);
    const file = new NodeFile(await open(path, FLAGS[mode]));
    return mode === 'log' ? syncedFile(file) : file;
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

/** Returns Node's code of a system error, for example `ENOENT`. */
export function errorCode(error: unknown): string | undefined {
  return error instanceof Error && 'code' in error && typeof error.code === 'string' ? error.code : undefined;
}
