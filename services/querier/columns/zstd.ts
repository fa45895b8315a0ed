import load from '@foxglove/wasm-zstd/dist/wasm-zstd.js';

import { UnknownLayout } from '#shared/parquet/compact-protocol';

type ZstdModule = Awaited<ReturnType<typeof load>>;

/** A block of the module's memory, which is kept between calls. */
interface Block {
  pointer: number;
  bytes: number;
}

/** Most pages are smaller. */
const BLOCK_BYTES_MIN = 1 << 18;

let zstd: ZstdModule | undefined;
let loading: Promise<void> | undefined;
const source: Block = { pointer: 0, bytes: 0 };
const target: Block = { pointer: 0, bytes: 0 };

/** Loads the decompression. */
export function loadZstd(): Promise<void> {
  loading ??= load().then((loaded) => {
    zstd = loaded;
  });
  return loading;
}

/**
 * Decompresses a page. Call it when `loadZstd` has resolved.
 *
 * @param length after decompression
 * @returns a view, which is valid until the next call
 * @throws `UnknownLayout` if the bytes are not compressed as they should be.
 */
export function decompress(bytes: Uint8Array, length: number): Uint8Array {
  if (zstd === undefined) throw new UnknownLayout('decompression is not loaded');
  reserve(zstd, source, bytes.length);
  reserve(zstd, target, length);
  zstd.HEAPU8.set(bytes, source.pointer);
  const found = zstd._decompress(target.pointer, length, source.pointer, bytes.length);
  if (found !== length) throw new UnknownLayout('page that cannot be decompressed');
  return zstd.HEAPU8.subarray(target.pointer, target.pointer + length);
}

function reserve(module: ZstdModule, block: Block, bytes: number): void {
  if (block.bytes >= bytes) return;
  if (block.pointer !== 0) module._free(block.pointer);
  const size = Math.max(bytes, BLOCK_BYTES_MIN);
  block.pointer = module._malloc(size);
  block.bytes = block.pointer === 0 ? 0 : size;
  if (block.pointer === 0) throw new UnknownLayout('page that is too large');
}
