import type { FileSystem } from './file-system.js';

const BLOCK_BYTES = 1 << 20;

/** Copies a file block by block to a new one; not made durable. */
export async function copyFile(fs: FileSystem, from: string, to: string): Promise<void> {
  const source = await fs.open(from, 'read');
  try {
    const target = await fs.open(to, 'append');
    try {
      const block = new Uint8Array(BLOCK_BYTES);
      for (let at = 0; ;) {
        const read = await source.read(block, at);
        if (read === 0) return;
        await target.append([block.subarray(0, read)]);
        at += read;
      }
    } finally {
      await target.close();
    }
  } finally {
    await source.close();
  }
}
