import { statfs } from 'node:fs/promises';

/** What the disk of a folder has left for this user. */
export async function freeBytes(folder: string): Promise<number> {
  const { bavail, bsize } = await statfs(folder);
  return bavail * bsize;
}
