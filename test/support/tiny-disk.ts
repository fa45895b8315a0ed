import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, openSync, writeSync } from 'node:fs';
import { createInterface, type Interface } from 'node:readline';

const PAGE_BYTES = 4096;

/**
 * A file system of its own in memory, mounted in a name space of its own: that needs no rights on the machine, and it
 * is gone with the processes in there.
 */
export class TinyDisk {
  /** Where it is seen from outside. Not for programs that follow links, such as SQLite: these go in. */
  readonly folder: string;
  /** Starts programs that see it at the mount point. */
  readonly through: readonly string[];
  readonly #holder: ChildProcess;
  readonly #mountPoint: string;
  readonly #replies: AsyncIterator<string>;

  private constructor(holder: ChildProcess, mountPoint: string, replies: AsyncIterator<string>) {
    this.#holder = holder;
    this.#mountPoint = mountPoint;
    this.#replies = replies;
    const target = ['--target', String(holder.pid)];
    this.through = ['nsenter', ...target, '--user', '--preserve-credentials', '--mount'];
    this.folder = `/proc/${holder.pid}/root${mountPoint}`;
  }

  /** @param mountPoint an empty folder, which stays empty for all others. */
  static async mount(mountPoint: string, mebibytes: number): Promise<TinyDisk> {
    // A shell that does what it is told, until nobody can tell it anything any more.
    const holder = spawn('unshare', ['--map-root-user', '--mount', 'sh'], { stdio: ['pipe', 'pipe', 'inherit'] });
    const lines: Interface = createInterface(holder.stdout);
    const disk = new TinyDisk(holder, mountPoint, lines[Symbol.asyncIterator]());
    await disk.#tell(`mount -t tmpfs -o size=${mebibytes}m tmpfs "${mountPoint}"`);
    return disk;
  }

  /** Makes the file system larger while it is in use. */
  grow(mebibytes: number): Promise<void> {
    return this.#tell(`mount -o remount,size=${mebibytes}m "${this.#mountPoint}"`);
  }

  /** Nothing may have a file open for writing. */
  makeReadOnly(): Promise<void> {
    return this.#tell(`mount -o remount,ro "${this.#mountPoint}"`);
  }

  /** Writes to a new file until there is no room left. */
  fill(path: string): void {
    const file = openSync(path, 'w');
    const page = Buffer.alloc(PAGE_BYTES);
    try {
      for (;;) writeSync(file, page);
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'ENOSPC') throw error;
    } finally {
      closeSync(file);
    }
  }

  /** Also while it is in use; it is gone when nobody uses it any more. */
  async unmount(): Promise<void> {
    this.#holder.stdin?.end();
    if (this.#holder.exitCode === null) await once(this.#holder, 'exit');
  }

  async #tell(command: string): Promise<void> {
    this.#holder.stdin?.write(`${command} && echo done || echo failed\n`);
    const { value } = (await this.#replies.next()) as { value?: string };
    if (value !== 'done') throw new Error(`cannot ${command}`);
  }
}
