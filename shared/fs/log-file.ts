import { constants } from 'node:fs';
import { open } from 'node:fs/promises';

import type { OpenFile } from './file-system.js';
import { bytesOfParts, NodeFile } from './node-file.js';

const { O_CREAT, O_DSYNC, O_WRONLY } = constants;
/** Zeros that are written at once, and at least as many are kept ahead of the end. */
const ZEROS_BYTES = 1 << 20;
/** Shorter files have no zeros: the logs of most small servers stay that short. */
const BYTES_MIN = 256 * 1024;

let zeros: Uint8Array | undefined;

/**
 * A log on Linux: each write is durable when it resolves (`O_DSYNC`).
 *
 * A write that extends a file must also make its size and its blocks durable, which takes the file system as long again as the
 * bytes. So zeros are written ahead, which records then replace. `truncate` and `close` cut off what is left of them; a
 * crash leaves them at the end of the file.
 */
export class LogFile implements OpenFile {
  readonly #path: string;
  readonly #file: NodeFile;
  /** A handle whose writes do not wait for the disk one by one. */
  #ahead: NodeFile | undefined = undefined;
  /** Where the next bytes go. */
  #end: number;
  /** Where the zeros end; less than `#end` if there are none. */
  #zerosEnd = 0;
  #extending: Promise<void> | undefined = undefined;
  /** Whether zeros are of use, and where they end is known. */
  #isExtended = true;
  #hasFailed = false;

  private constructor(path: string, file: NodeFile, bytes: number) {
    this.#path = path;
    this.#file = file;
    this.#end = bytes;
  }

  /** Opens a file to write at its end, or creates it. */
  static async open(path: string): Promise<LogFile> {
    const handle = await open(path, O_CREAT | O_WRONLY | O_DSYNC);
    const { size } = await handle.stat();
    return new LogFile(path, new NodeFile(handle), size);
  }

  async append(parts: readonly Uint8Array[]): Promise<void> {
    const end = this.#end + bytesOfParts(parts);
    // Zeros that are on their way must not replace the parts.
    if (end > this.#zerosEnd) await this.#extending;
    try {
      await this.#file.writeAt(parts, this.#end);
    } catch (error) {
      this.#hasFailed = true;
      throw error;
    }
    this.#end = end;
    if (this.#isExtended && end >= BYTES_MIN && end + ZEROS_BYTES > this.#zerosEnd) this.#extending ??= this.#extend();
  }

  read(target: Uint8Array, position: number): Promise<number> {
    return this.#file.read(target, position);
  }

  syncData(): Promise<void> {
    return this.#file.syncData();
  }

  sync(): Promise<void> {
    return this.#file.sync();
  }

  async truncate(bytes: number): Promise<void> {
    await this.#extending;
    await this.#file.truncate(bytes);
    this.#end = bytes;
    this.#zerosEnd = 0;
  }

  async close(): Promise<void> {
    await this.#extending;
    await this.#ahead?.close();
    try {
      // After a failure, what the file contains is for the next start to find out.
      if (this.#ahead !== undefined && !this.#hasFailed) await this.#file.truncate(this.#end);
    } finally {
      await this.#file.close();
    }
  }

  /** Writes more zeros. On a full disk there are none, and the next record reports it. */
  async #extend(): Promise<void> {
    const from = Math.max(this.#end, this.#zerosEnd);
    zeros ??= new Uint8Array(ZEROS_BYTES);
    try {
      this.#ahead ??= new NodeFile(await open(this.#path, 'r+'));
      await this.#ahead.writeAt([zeros], from);
      // Blocks are only assigned now, and would otherwise be by each record.
      await this.#ahead.syncData();
      this.#zerosEnd = from + ZEROS_BYTES;
    } catch {
      this.#isExtended = false;
    }
    this.#extending = undefined;
  }
}
