import { CompressionType, compressionRegistry, MessageReader, tableToIPC, type Table } from 'apache-arrow';

/** Compressions of the values in Arrow's IPC format: `lz4` (frames) and `zstd`. */
export type ArrowCompression = 'lz4' | 'zstd';

const TYPES: Readonly<Record<ArrowCompression, CompressionType>> = {
  lz4: CompressionType.LZ4_FRAME,
  zstd: CompressionType.ZSTD,
};

/** Of zstd. Results pass once over a network: speed counts more than size. */
const ZSTD_LEVEL = 1;

/** Lengths of the buffers that the codecs have compressed since the last call of `compressedStream`, in their order. */
let lengths: number[] = [];

/** Loads a compression, once. Must have ended before the first call of `compressedStream`. */
export async function loadArrowCompression(compression: ArrowCompression): Promise<void> {
  const codec = compressionRegistry.get(TYPES[compression]);
  if (codec?.encode !== undefined) return;
  const compress = await (compression === 'lz4' ? loadLz4() : loadZstd());
  const encode = (bytes: Uint8Array): Uint8Array => {
    lengths.push(bytes.length);
    return compress(bytes);
  };
  compressionRegistry.set(TYPES[compression], { ...codec, encode });
}

type Compress = (bytes: Uint8Array) => Uint8Array;

async function loadLz4(): Promise<Compress> {
  const { compressFrameSync } = await import('lz4-napi');
  return (bytes) => compressFrameSync(Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length));
}

async function loadZstd(): Promise<Compress> {
  const { compress, isLoaded } = await import('@foxglove/wasm-zstd');
  await isLoaded;
  return (bytes) => compress(bytes, ZSTD_LEVEL);
}

/** Returns the IPC stream of a table, whose buffers are compressed where that makes them smaller. */
export function compressedStream(table: Table, compression: ArrowCompression): Uint8Array {
  lengths = [];
  const stream = tableToIPC(table, 'stream', TYPES[compression]);
  setLengths(stream, lengths);
  return stream;
}

/**
 * Sets the prefix of each compressed buffer to the length of the specification: apache-arrow 21 writes the length after
 * compression, which its own reader does not use and others do.
 */
function setLengths(stream: Uint8Array, lengths: readonly number[]): void {
  const reader = new MessageReader(stream);
  let next = 0;
  for (let message = reader.readMessage(); message !== null; message = reader.readMessage()) {
    const body = reader.readMessageBody(message.bodyLength); // shares the memory of the stream
    if (!message.isRecordBatch()) continue;
    const view = new DataView(body.buffer, body.byteOffset, body.byteLength);
    for (const { offset, length } of message.header().buffers) {
      if (length === 0) continue;
      const uncompressed = lengths[next++];
      if (view.getBigInt64(offset, true) >= 0) view.setBigInt64(offset, BigInt(uncompressed), true);
    }
  }
}
