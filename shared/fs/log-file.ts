import { constants } from 'node:fs';
import { open } from 'node:fs/promises';

import type { OpenFile } from './file-system.js';
import { bytesOfParts, NodeFile } from './node-file.js';

const { O_CREAT, O_DSYNC, O_WRONLY } = constants;
/** Zeros that are written at once, when there are fewer than this. */
const ZEROS_BYTES = 1 << 20;
/** Shorter files have no zeros: the logs of most small servers stay that short. */
const BYTES_MIN = 256 * 1024;

let zeros: Uint8Array | undefined;

/** A handle of a log file, which writes at given positions. */
export type LogHandle = Omit<OpenFile, 'append'> & Pick<NodeFile, 'writeAt'>;

/**
 * A log on Linux: each write is durable when it resolves (`O_DSYNC`).
 *
 * A write that extends a file must also make its size and its blocks durable, which takes the file system as long again as the
 * bytes. So zeros are written ahead, which records then replace. `truncate` and `close` cut off what is left of them; a
 * crash or a failed write leaves them at the end of the file.
 */
export class LogFile implements OpenFile {
  readonly #file: LogHandle;
  /** Its writes do not wait for the disk one by one. */
  readonly #ahead: LogHandle;
  /** Where the next bytes go. */
  #end: number;
  /** Where the zeros end; less than `#end` if there are none. */
  #zerosEnd = 0;
  #extending: Promise<void> | undefined = undefined;
  /** False once zeros could not be written. */
  #canExtend = true;
  /** Whether there may be something after `#end` that close must cut off. */
  #hasRest = false;

  /**
   * @param file makes each write durable.
   * @param ahead another handle of the same file.
   * @param bytes size of the file.
   */
  constructor(file: LogHandle, ahead: LogHandle, bytes: number) {
    this.#file = file;
    this.#ahead = ahead;
    this.#end = bytes;
  }

  /** Opens a file to write at its end, or creates it. */
  static async open(path: string): Promise<LogFile> {
    const file = await open(path, O_CREAT | O_WRONLY | O_DSYNC);
    try {
      const { size } = await file.stat();
      return new LogFile(new NodeFile(file), new NodeFile(await open(path, O_WRONLY)), size);
    } catch (error) {
      await file.close();
      throw error;
    }
  }

  async append(parts: readonly Uint8Array[]): Promise<void> {
    const end = this.#end + bytesOfParts(parts);
    // Zeros that are on their way must not replace the parts.
    if (end > this.#zerosEnd) await this.#extending;
    try {
      await this.#file.writeAt(parts, this.#end);
    } catch (error) {
      // What the file contains is for the next start to find out, unless it is truncated.
      this.#canExtend = false;
      await this.#extending;
      this.#hasRest = false;
      throw error;
    }
    this.#end = end;
    if (this.#canExtend && end >= BYTES_MIN && end + ZEROS_BYTES > this.#zerosEnd) this.#extending ??= this.#extend();
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
    this.#hasRest = false;
  }

  async close(): Promise<void> {
    await this.#extending;
    try {
      if (this.#hasRest) await this.#file.truncate(this.#end);
      await this.#ahead.close();
    } finally {
      await this.#file.close();
    }
  }

  /** Writes more zeros. On a full disk there are none, and the next record reports it. */
  async #extend(): Promise<void> {
    const from = Math.max(this.#end, this.#zerosEnd);
    zeros ??= new Uint8Array(ZEROS_BYTES);
    this.#hasRest = true;
    try {
      await this.#ahead.writeAt([zeros], from);
      // Blocks are only assigned now, and would otherwise be by each record.
      await this.#ahead.syncData();
      this.#zerosEnd = from + ZEROS_BYTES;
    } catch {
      this.#canExtend = false;
    }
    this.#extending = undefined;
  }
}
