import type { FileSystem } from './file-system.js';

/**
 * Writes a small file next to its final path and renames it, so that a crash leaves either the old or the new file whole.
 * The name becomes durable when the caller syncs the folder.
 */
export async function replaceFile(fs: FileSystem, path: string, text: string): Promise<void> {
  const scratch = scratchOf(path);
  await fs.remove(scratch);
  const file = await fs.open(scratch, 'append');
  try {
    await file.append([new TextEncoder().encode(text)]);
    await file.sync();
  } finally {
    await file.close();
  }
  await fs.rename(scratch, path);
}

/** Removes what a crash left of a replacement of the file. */
export function removeUnfinished(fs: FileSystem, path: string): Promise<void> {
  return fs.remove(scratchOf(path));
}

function scratchOf(path: string): string {
  return `${path}.new`;
}
