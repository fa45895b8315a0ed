import { statfs } from 'node:fs/promises';

/** Size of a disk in bytes. */
export interface DiskSpace {
  readonly totalBytes: number;
  /** What this user can still write. */
  readonly freeBytes: number;
}

/** Returns the size of the disk of a folder. */
export async function diskSpace(folder: string): Promise<DiskSpace> {
  const { blocks, bavail, bsize } = await statfs(folder);
  return { totalBytes: blocks * bsize, freeBytes: bavail * bsize };
}
