import { fdatasync, writev } from 'node:fs';
import type { FileHandle } from 'node:fs/promises';

import { AlmanacError } from '#shared/errors/almanac-error';

import type { OpenFile } from './file-system.js';

/** A file of the disk. It appends and syncs by callbacks, for the log: methods of `FileHandle` cost some 10 us more a call. */
export class NodeFile implements OpenFile {
  readonly #handle: FileHandle;
  /** Calls that use the file descriptor, which must not be closed meanwhile. */
  #callCount = 0;
  #onIdle: (() => void) | undefined = undefined;

  constructor(handle: FileHandle) {
    this.#handle = handle;
  }

  append(parts: readonly Uint8Array[]): Promise<void> {
    return this.#write(parts, null);
  }

  /** Writes all parts in order from `position` on, in a file that is not opened to append. A short write is an error. */
  writeAt(parts: readonly Uint8Array[], position: number): Promise<void> {
    return this.#write(parts, position);
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

  async #write(parts: readonly Uint8Array[], position: number | null): Promise<void> {
    const expected = bytesOfParts(parts);
    const bytesWritten = await this.#call<number>((done) => writev(this.#handle.fd, parts, position, done));
    if (bytesWritten !== expected) throw new ShortWrite(bytesWritten, expected);
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

/** Returns the number of bytes of parts that are written together. */
export function bytesOfParts(parts: readonly Uint8Array[]): number {
  let bytes = 0;
  for (const part of parts) bytes += part.byteLength;
  return bytes;
}

/** A short write, as a full disk causes. The rest is not retried, because the log's tail is then unknown. */
export class ShortWrite extends AlmanacError {
  constructor(writtenBytes: number, bytes: number) {
    super('storage_unavailable', `no space left on device: wrote ${writtenBytes} of ${bytes} bytes`);
  }
}
