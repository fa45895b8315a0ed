import { spawnSync } from 'node:child_process';

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
    this.#remount('ro');
  }

  resize(mebibytes: number): void {
    this.#remount(`size=${mebibytes}m`);
  }

  /** Also while it is in use; it is gone when nobody uses it any more. */
  unmount(): void {
    spawnSync('umount', ['--lazy', this.folder]);
  }

  #remount(option: string): void {
    const { status, stderr } = spawnSync('mount', ['-o', `remount,${option}`, this.folder], { encoding: 'utf8' });
    if (status !== 0) throw new Error(`cannot remount ${this.folder}: ${stderr}`);
  }
}
