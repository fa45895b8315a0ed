import { crc32c } from '#shared/bytes/crc32c';

import type { FileSystem, OpenFile } from './file-system.js';

const BLOCK_BYTES = 1 << 20;

/** Result of `copyFile`. */
export interface CopiedFile {
  readonly bytes: number;
  /** Checksum of the bytes as they were read. */
  readonly crc32c: number;
}

/**
 * Copies a file to a new name. The contents are durable when this resolves; the name becomes durable when the caller syncs
 * its folder.
 */
export async function copyFile(fs: FileSystem, source: string, target: string): Promise<CopiedFile> {
  const from = await fs.open(source, 'read');
  try {
    const to = await fs.open(target, 'append');
    try {
      const copied = await copyBlocks(from, to);
      await to.sync();
      return copied;
    } finally {
      await to.close();
    }
  } finally {
    await from.close();
  }
}

async function copyBlocks(from: OpenFile, to: OpenFile): Promise<CopiedFile> {
  const block = new Uint8Array(BLOCK_BYTES);
  let bytes = 0;
  let sum = 0;
  for (;;) {
    const read = await from.read(block, bytes);
    if (read === 0) return { bytes, crc32c: sum };
    const part = block.subarray(0, read);
    sum = crc32c(part, sum);
    await to.append([part]);
    bytes += read;
  }
}
