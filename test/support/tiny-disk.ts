import { spawnSync } from 'node:child_process';
import { closeSync, openSync, writeSync } from 'node:fs';

const PAGE_BYTES = 4096;

/** A file system of its own in memory, mounted on a folder; only root can make one. */
export class TinyDisk {
  readonly folder: string;

  private constructor(folder: string) {
    this.folder = folder;
  }

  /** @returns undefined where nothing may be mounted. */
  static mount(folder: string, mebibytes: number): TinyDisk | undefined {
    const { status } = spawnSync('mount', ['-t', 'tmpfs', '-o', `size=${mebibytes}m`, 'tmpfs', folder]);
    return status === 0 ? new TinyDisk(folder) : undefined;
  }

  /** Nothing may have a file open for writing. */
  makeReadOnly(): void {
    const { status, stderr } = spawnSync('mount', ['-o', 'remount,ro', this.folder], { encoding: 'utf8' });
    if (status !== 0) throw new Error(`cannot remount ${this.folder}: ${stderr}`);
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
  unmount(): void {
    spawnSync('umount', ['--lazy', this.folder]);
  }
}
