import {
  appendFileSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  truncateSync,
  unlinkSync,
} from 'node:fs';
import { dirname } from 'node:path';

import type { FileSystem, OpenFile, OpenMode } from '#shared/fs/file-system';
import { syncedFile } from '#shared/fs/synced-file';

import type { Life } from './life.js';
import type { Scheduler } from './scheduler.js';

/** A file in memory: what was synced of it survives its writer. */
interface MemoryFile {
  bytes: Buffer;
  syncedBytes: number;
  /** Pages that a failed sync dropped: they read back, later syncs succeed without them, and a crash loses them. */
  dropped: readonly { readonly from: number; readonly to: number }[];
  /** Whether a crash may leave zeros at its end, as in a file opened as `log`. */
  mayHaveZeros: boolean;
  /** Contents before a truncation that is not synced: a crash may bring them back. */
  untruncated: Pick<MemoryFile, 'bytes' | 'syncedBytes' | 'dropped' | 'mayHaveZeros'> | undefined;
  writtenMs: number;
  writer: Life;
  /** Whether its name survives its writer. */
  isNamed: boolean;
}

/** A change of names that its folder's sync makes durable. */
interface NameChange {
  readonly folder: string;
  readonly life: Life;
  readonly undo: () => void;
}

/** Faults of the disk, for every process that changes something on it. */
export interface DiskFaults {
  /** Chance that a change fails: of contents, which may then be written in part, of names, or of a sync. */
  readonly failed: number;
  /** Whether there is no space left. */
  readonly isFull: boolean;
}

/** No faults. */
export const SOUND_DISK: DiskFaults = { failed: 0, isFull: false };

const UNDO_CHANCE = 0.4;
/** Chance that a sync finds no space for what the disk accepted before it was full. */
const LATE_FULL_CHANCE = 0.5;
/** Chance that a truncation fails on a full disk, as with copy on write. */
const FULL_TRUNCATE_CHANCE = 0.2;
const SYNC_MS_MAX = 150;
const ZEROS_CHANCE = 0.5;
const ZEROS_MAX = 300;

/**
 * The disk that all processes share. What ingesters write themselves (logs, slots) is in memory; what the engine reads
 * and writes (segments) is in a folder of the machine.
 *
 * When a process dies, it loses some of what it did not sync: ends of files, torn at any byte, and new, changed and
 * removed names.
 */
export class Disk {
  readonly #scheduler: Scheduler;
  readonly #isInMemory: (path: string) => boolean;
  readonly #files = new Map<string, MemoryFile>();
  readonly #locks = new Map<string, Life>();
  #changes: NameChange[] = [];
  /** Files of the machine: when they were written, and whether they were synced. */
  readonly #writtenMs = new Map<string, number>();
  readonly #synced = new Set<string>();
  /** Chance that a sync fails. */
  syncFaults = 0;
  faults = SOUND_DISK;

  constructor(scheduler: Scheduler, isInMemory: (path: string) => boolean) {
    this.#scheduler = scheduler;
    this.#isInMemory = isInMemory;
  }

  /** Returns the names of the files in memory. */
  get memoryFiles(): string[] {
    return [...this.#files.keys()];
  }

  /** Returns whether the process has written something that its death would tear. */
  hasUnsynced(life: Life): boolean {
    return [...this.#files.values()].some(({ writer, bytes, syncedBytes }) => {
      return writer === life && bytes.length > syncedBytes;
    });
  }

  /** Returns the folders that a living process holds. */
  get lockedFolders(): string[] {
    return [...this.#locks].flatMap(([folder, life]) => (life.isDead ? [] : [folder]));
  }

  /** Returns the disk as one process sees it. */
  fileSystemOf(life: Life): FileSystem {
    life.onDeath(() => this.#crash(life));
    const step = (): Promise<void> => this.#step(life);
    return {
      open: async (path, mode) => {
        await step();
        if (!this.#isInMemory(path)) return this.#openReal(path, mode, life);
        let file = this.#files.get(path);
        if (file === undefined && mode !== 'append' && mode !== 'log') throw missing(path);
        if (file === undefined) {
          this.#mayFail('more');
          file = {
            bytes: Buffer.alloc(0),
            syncedBytes: 0,
            dropped: [],
            mayHaveZeros: false,
            untruncated: undefined,
            writtenMs: life.clock.nowMs(),
            writer: life,
            isNamed: false,
          };
          this.#files.set(path, file);
        }
        if (mode !== 'read') file.writer = life;
        const opened = this.#openMemory(file, life);
        return mode === 'log' ? logFile(syncedFile(opened), file) : opened;
      },
      readFile: async (path) => {
        await step();
        return new Uint8Array(this.#isInMemory(path) ? this.#find(path).bytes : readFileSync(path));
      },
      list: async (folder) => {
        await step();
        return this.#list(folder);
      },
      size: async (path) => {
        await step();
        if (this.#isInMemory(path)) return this.#files.get(path)?.bytes.length;
        return existsSync(path) ? statSync(path).size : undefined;
      },
      modifiedMs: async (path) => {
        await step();
        if (this.#isInMemory(path)) return this.#files.get(path)?.writtenMs;
        return existsSync(path) ? this.#writtenMs.get(path) : undefined;
      },
      stampSync: (path) => {
        const memory = this.#files.get(path);
        if (memory !== undefined) return { bytes: memory.bytes.length, modifiedMs: memory.writtenMs, inode: 0 };
        if (this.#isInMemory(path) || !existsSync(path)) return undefined;
        return { bytes: statSync(path).size, modifiedMs: this.#writtenMs.get(path) ?? 0, inode: 0 };
      },
      makeFolder: async (path) => {
        await step();
        if (this.#isFolder(path)) return;
        this.#mayFail('more');
        if (!this.#isInMemory(path)) mkdirSync(path, { recursive: true });
      },
      rename: async (from, to) => {
        await step();
        this.#mayFail('other');
        if (this.#isInMemory(from)) this.#renameMemory(from, to, life);
        else this.#renameReal(from, to, life);
      },
      remove: async (path) => {
        await step();
        this.#mayFail('other');
        if (this.#isInMemory(path)) this.#removeMemory(path, life);
        else if (existsSync(path)) unlinkSync(path);
      },
      removeFolder: async (path) => {
        await step();
        this.#mayFail('other');
        if (!this.#isInMemory(path)) rmSync(path, { recursive: true, force: true });
        else for (const name of this.#list(path)) this.#removeMemory(`${path}/${name}`, life);
      },
      tryLock: (folder) => this.#tryLock(folder, life),
      syncFolder: async (path) => {
        await step();
        this.#mayFail('other');
        this.#changes = this.#changes.filter((change) => change.folder !== path);
        for (const [name, file] of this.#files) if (dirname(name) === path) file.isNamed = true;
      },
    };
  }

  #step(life: Life): Promise<void> {
    const { random } = this.#scheduler;
    return this.#scheduler.pass(random.fraction() < 0.02 ? random.fraction() * 60 : random.fraction(), life);
  }

  /**
   * @param what `more` if it needs space.
   * @throws EIO, ENOSPC.
   */
  #mayFail(what: 'more' | 'other'): void {
    const { failed: chance, isFull } = this.faults;
    if (isFull && what === 'more') throw full();
    if (chance > 0 && this.#scheduler.random.fraction() < chance) throw failed();
  }

  #find(path: string): MemoryFile {
    const file = this.#files.get(path);
    if (file === undefined) throw missing(path);
    return file;
  }

  #isFolder(path: string): boolean {
    return this.#isInMemory(path) ? this.#list(path).length > 0 : existsSync(path);
  }

  #list(folder: string): string[] {
    if (!this.#isInMemory(folder)) return existsSync(folder) ? readdirSync(folder).sort() : [];
    const names = new Set<string>();
    for (const path of this.#files.keys()) {
      if (path.startsWith(`${folder}/`)) names.add(path.slice(folder.length + 1).split('/')[0]);
    }
    return [...names].sort();
  }

  #tryLock(folder: string, life: Life): (() => void) | undefined {
    const holder = this.#locks.get(folder);
    if (holder !== undefined && !holder.isDead) return undefined;
    this.#locks.set(folder, life);
    return () => {
      if (this.#locks.get(folder) === life) this.#locks.delete(folder);
    };
  }

  #openMemory(file: MemoryFile, life: Life): OpenFile {
    const sync = async (): Promise<void> => {
      const bytes = file.bytes.length;
      await this.#scheduler.pass(this.#scheduler.random.fraction() ** 3 * SYNC_MS_MAX, life);
      if (this.#scheduler.random.fraction() < this.syncFaults) throw failed();
      this.#mayFail('other');
      const to = Math.min(bytes, file.bytes.length);
      if (this.faults.isFull && to > file.syncedBytes && this.#scheduler.random.fraction() < LATE_FULL_CHANCE) {
        file.dropped = [...file.dropped, { from: file.syncedBytes, to }];
        file.syncedBytes = to;
        throw full();
      }
      file.syncedBytes = Math.max(file.syncedBytes, to);
      file.untruncated = undefined;
    };
    return {
      append: async (parts) => {
        const added = Buffer.concat(parts);
        await this.#step(life);
        try {
          this.#mayFail('more');
        } catch (error) {
          file.bytes = Buffer.concat([file.bytes, added.subarray(0, this.#scheduler.random.below(added.length + 1))]);
          throw error;
        }
        file.bytes = Buffer.concat([file.bytes, added]);
        file.untruncated = undefined;
        file.writtenMs = life.clock.nowMs();
      },
      read: async (target, position) => {
        await this.#step(life);
        return file.bytes.copy(target, 0, position);
      },
      syncData: sync,
      sync,
      truncate: async (bytes) => {
        await this.#step(life);
        this.#mayFail('other');
        if (this.faults.isFull && this.#scheduler.random.fraction() < FULL_TRUNCATE_CHANCE) throw full();
        const { syncedBytes, dropped, mayHaveZeros } = file;
        file.untruncated ??= { bytes: file.bytes, syncedBytes, dropped, mayHaveZeros };
        file.mayHaveZeros = false;
        file.bytes = file.bytes.subarray(0, bytes);
        file.syncedBytes = Math.min(file.syncedBytes, bytes);
        file.dropped = file.dropped
          .filter(({ from }) => from < bytes)
          .map(({ from, to }) => ({ from, to: Math.min(to, bytes) }));
      },
      close: () => Promise.resolve(),
    };
  }

  /** Reads the whole file at once, so that a process that dies leaves no handle open. */
  #openReal(path: string, mode: OpenMode, life: Life): OpenFile {
    const bytes = mode === 'append' ? Buffer.alloc(0) : readFileSync(path);
    const refuse = (): never => {
      throw failed();
    };
    return {
      append: async (parts) => {
        if (mode !== 'append') return refuse();
        await this.#step(life);
        this.#mayFail('more');
        appendFileSync(path, Buffer.concat(parts));
      },
      truncate: refuse,
      read: (target, position) => Promise.resolve(bytes.copy(target, 0, position)),
      syncData: refuse,
      sync: async () => {
        await this.#step(life);
        // The engine, which wrote it, would have failed on a full disk; here the sync does.
        this.#mayFail('more');
        this.#synced.add(path);
      },
      close: () => Promise.resolve(),
    };
  }

  #renameMemory(from: string, to: string, life: Life): void {
    const file = this.#find(from);
    const before = this.#files.get(to);
    this.#files.delete(from);
    this.#files.set(to, file);
    const undo = (): void => {
      if (this.#files.get(to) !== file) return;
      if (before === undefined) this.#files.delete(to);
      else this.#files.set(to, before);
    };
    this.#changes.push({ folder: dirname(to), life, undo });
  }

  #renameReal(from: string, to: string, life: Life): void {
    renameSync(from, to);
    this.#writtenMs.set(to, life.clock.nowMs());
    const isSynced = this.#synced.delete(from);
    const undo = (): void => {
      if (existsSync(to)) unlinkSync(to);
    };
    this.#changes.push({ folder: dirname(to), life, undo });
    // What was not synced before it got its name stays torn.
    if (!isSynced) life.onDeath(() => existsSync(to) && truncateSync(to, Math.floor(statSync(to).size / 2)));
  }

  #removeMemory(path: string, life: Life): void {
    const file = this.#files.get(path);
    if (file === undefined) {
      for (const name of this.#list(path)) this.#removeMemory(`${path}/${name}`, life);
      return;
    }
    this.#files.delete(path);
    const undo = (): void => {
      if (!this.#files.has(path)) this.#files.set(path, file);
    };
    this.#changes.push({ folder: dirname(path), life, undo });
  }

  #crash(life: Life): void {
    const { random } = this.#scheduler;
    const mine = this.#changes.filter((change) => change.life === life);
    this.#changes = this.#changes.filter((change) => change.life !== life);
    // Names are lost from the newest back, because a journal keeps their order.
    for (const change of mine.reverse()) {
      if (random.fraction() >= UNDO_CHANCE) break;
      change.undo();
    }
    for (const [path, file] of this.#files) {
      if (file.writer !== life) continue;
      if (!file.isNamed && random.fraction() < UNDO_CHANCE) this.#files.delete(path);
      else this.#tear(file);
    }
    for (const [folder, holder] of this.#locks) if (holder === life) this.#locks.delete(folder);
  }

  /** Loses some of what was not synced. */
  #tear(file: MemoryFile): void {
    const { random } = this.#scheduler;
    if (file.untruncated !== undefined && random.fraction() < UNDO_CHANCE) Object.assign(file, file.untruncated);
    file.untruncated = undefined;
    if (file.dropped.length > 0) file.bytes = Buffer.from(file.bytes);
    for (const { from, to } of file.dropped) file.bytes.fill(0, from, Math.min(to, file.bytes.length));
    file.dropped = [];
    const unsynced = file.bytes.length - file.syncedBytes;
    if (unsynced > 0 && random.fraction() < 0.7) {
      file.bytes = file.bytes.subarray(0, file.syncedBytes + random.below(unsynced + 1));
    }
    if (file.mayHaveZeros && random.fraction() < ZEROS_CHANCE) {
      file.bytes = Buffer.concat([file.bytes, Buffer.alloc(random.below(ZEROS_MAX))]);
    }
    file.mayHaveZeros = false;
    file.syncedBytes = file.bytes.length;
    file.isNamed = true;
  }
}

/** Returns a log, in which zeros are written ahead once a write has succeeded. */
function logFile(opened: OpenFile, file: MemoryFile): OpenFile {
  const append: OpenFile['append'] = async (parts) => {
    await opened.append(parts);
    file.mayHaveZeros = true;
  };
  return { ...opened, append };
}

function missing(path: string): Error {
  return Object.assign(new Error(`ENOENT: no such file, "${path}"`), { code: 'ENOENT', path });
}

function full(): Error {
  return Object.assign(new Error('ENOSPC: no space left on device'), { code: 'ENOSPC' });
}

function failed(): Error {
  return Object.assign(new Error('EIO: input or output error'), { code: 'EIO' });
}
