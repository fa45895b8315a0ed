import { closeSync, openSync, readSync } from 'node:fs';

import { invariant, InvariantError } from '#shared/errors/invariant';

import type { FileSystem, OpenFile } from './file-system.js';
import { nodeFileSystem } from './node-file-system.js';

/**
 * The disk of the machine for a worker thread that does nothing else while it reads: calls of opened files block. Files that the
 * kernel has in memory are read without handing the call to a thread of Node's pool and waiting for it, which takes 0.1 ms.
 * Files are opened for reading only.
 */
export const blockingReads: FileSystem = {
  ...nodeFileSystem,
  open: (path, mode) =>
    settled(() => {
      invariant(mode === 'read', 'blocking reads: file opened for writing');
      return new BlockingFile(openSync(path, 'r'));
    }),
};

class BlockingFile implements OpenFile {
  readonly #fd: number;

  constructor(fd: number) {
    this.#fd = fd;
  }

  read(target: Uint8Array, position: number): Promise<number> {
    return settled(() => {
      let done = 0;
      while (done < target.length) {
        const bytes = readSync(this.#fd, target, done, target.length - done, position + done);
        if (bytes === 0) break;
        done += bytes;
      }
      return done;
    });
  }

  close(): Promise<void> {
    return settled(() => closeSync(this.#fd));
  }

  append = refuse;
  syncData = refuse;
  sync = refuse;
  truncate = refuse;
}

function refuse(): Promise<never> {
  return Promise.reject(new InvariantError('blocking reads: file changed'));
}

/** Runs a blocking call. @returns a promise that is settled already. */
function settled<T>(call: () => T): Promise<T> {
  return new Promise((resolve) => resolve(call()));
}
