import { closeSync, openSync, readSync } from 'node:fs';

import { invariant, InvariantError } from '#shared/errors/invariant';

import type { FileSystem, OpenFile } from './file-system.js';
import { nodeFileSystem } from './node-file-system.js';

/**
 * The disk of the machine for worker threads, which may wait for it: opening, reading and closing block. Files that the kernel
 * has in memory are read without handing the call to a thread of Node's pool and waiting for it, which takes 0.1 ms. Files are
 * opened for reading only. A caller that reads many must yield to the event loop in between.
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
  /** -1 when it is closed: the number may be that of another file then. */
  #fd: number;

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
    const fd = this.#fd;
    this.#fd = -1;
    return settled(() => closeSync(fd));
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
