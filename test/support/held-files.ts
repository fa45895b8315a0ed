import type { FileSystem, OpenFile } from '#shared/fs/file-system';
import { nodeFileSystem } from '#shared/fs/node-file-system';
import { syncedFile } from '#shared/fs/synced-file';

/** The real disk, with syncs that wait for the test, and failures on demand. */
export class HeldFiles {
  syncCount = 0;
  /** Number of parts of each write. */
  readonly partCounts: number[] = [];
  /** Thrown by every write while set. */
  writeError: Error | undefined;
  /** Size of the free space as writes see it; larger ones fail with ENOSPC. */
  freeBytes = Infinity;
  /** Thrown by every sync while set. */
  syncError: Error | undefined;
  truncateError: Error | undefined;
  #isHolding = false;
  #held: (() => void)[] = [];
  #arrivals: { count: number; resolve: () => void }[] = [];

  readonly fileSystem: FileSystem = {
    ...nodeFileSystem,
    open: async (path, mode) => {
      const file = this.#wrap(await nodeFileSystem.open(path, mode === 'log' ? 'append' : mode));
      return mode === 'log' ? syncedFile(file) : file;
    },
  };

  /** Lets syncs wait for `release` from now on. */
  hold(): void {
    this.#isHolding = true;
  }

  /** Ends one waiting sync, as soon as there is one. */
  async release(): Promise<void> {
    await this.arrived(1);
    this.#held.shift()?.();
  }

  /** Ends all syncs, also future ones. */
  releaseAll(): void {
    this.#isHolding = false;
    for (const resolve of this.#held.splice(0)) resolve();
  }

  /** Resolves when `count` syncs wait. */
  arrived(count: number): Promise<void> {
    if (this.#held.length >= count) return Promise.resolve();
    return new Promise((resolve) => this.#arrivals.push({ count, resolve }));
  }

  #wrap(file: OpenFile): OpenFile {
    return {
      append: (parts) => {
        this.partCounts.push(parts.length);
        const bytes = parts.reduce((sum, part) => sum + part.length, 0);
        const full = Object.assign(new Error('ENOSPC: no space left on device, write'), { code: 'ENOSPC' });
        const error = this.writeError ?? (bytes > this.freeBytes ? full : undefined);
        return error === undefined ? file.append(parts) : Promise.reject(error);
      },
      read: (target, position) => file.read(target, position),
      syncData: async () => {
        this.syncCount++;
        if (this.#isHolding) await this.#wait();
        await (this.syncError === undefined ? file.syncData() : Promise.reject(this.syncError));
      },
      sync: () => (this.syncError === undefined ? file.sync() : Promise.reject(this.syncError)),
      truncate: (bytes) => {
        return this.truncateError === undefined ? file.truncate(bytes) : Promise.reject(this.truncateError);
      },
      close: () => file.close(),
    };
  }

  #wait(): Promise<void> {
    const waiting = new Promise<void>((resolve) => this.#held.push(resolve));
    const arrived = this.#arrivals.filter(({ count }) => this.#held.length >= count);
    this.#arrivals = this.#arrivals.filter((it) => !arrived.includes(it));
    for (const { resolve } of arrived) resolve();
    return waiting;
  }
}
