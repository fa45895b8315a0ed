import type { FileSystem } from './file-system.js';

/**
 * Writes a small file beside its place and renames it, so that a crash leaves a whole file or the one before. The name
 * is durable once the file's folder is synced, which is left to the caller.
 */
export async function replaceFile(fs: FileSystem, path: string, text: string): Promise<void> {
  const scratch = `${path}.new`;
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
