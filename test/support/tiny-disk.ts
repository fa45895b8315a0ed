import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, openSync, writeSync } from 'node:fs';
import { createInterface, type Interface } from 'node:readline';

const PAGE_BYTES = 4096;

/**
 * A small file system in memory, mounted in a mount namespace of its own. That needs no rights on the machine, and it
 * disappears with the processes in the namespace.
 */
export class TinyDisk {
  /**
   * Path from outside the namespace. Programs that resolve links, such as SQLite, have to enter the namespace instead.
   */
  readonly folder: string;
  /** Command prefix that starts a program within the namespace, where the file system is at the mount point. */
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

  /** @param mountPoint an empty folder, which stays empty for all other processes. */
  static async mount(mountPoint: string, mebibytes: number): Promise<TinyDisk> {
    // A shell that executes commands from its input until that is closed.
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

  /** Fails if a file is open for writing. */
  makeReadOnly(): Promise<void> {
    return this.#tell(`mount -o remount,ro "${this.#mountPoint}"`);
  }

  /** Writes to a new file until there is no space left. */
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

  /** Also works while it is in use: the file system disappears with its last user. */
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
