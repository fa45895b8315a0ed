import { crc32c } from '#shared/bytes/crc32c';
import { WireWriter } from '#shared/protobuf/wire-writer';

import type { StoredSeries } from '../samples/sample-source.js';
import type { Chunk } from './chunk.js';
import { chunksOf } from './chunks.js';
import { writeLabels } from './time-series.js';

/** Size of a frame's chunks in bytes after which a series continues in another frame, as in Prometheus. */
const FRAME_BYTES = 1024 * 1024;

const CHUNKED_SERIES = 0x0a;
const QUERY_INDEX = 0x10;
const CHUNK = 0x12;
const MIN_TIME = 0x08;
const MAX_TIME = 0x10;
const ENCODING = 0x18;
const DATA = 0x22;

/**
 * Writes frames of the streamed response: length, checksum, ChunkedReadResponse.
 *
 * @see https://github.com/prometheus/prometheus/blob/main/storage/remote/chunked.go
 */
export class FrameWriter {
  readonly #labels = new WireWriter();
  readonly #out = new WireWriter();

  /** Yields the frames of one series. @param query index of the query in the request. */
  *frames({ labels, slice }: StoredSeries, query: number): Iterable<Uint8Array> {
    writeLabels(labels, this.#labels);
    const labelBytes = this.#labels.take();
    let chunks: Chunk[] = [];
    let byteCount = labelBytes.length;
    for (const chunk of chunksOf(slice)) {
      chunks.push(chunk);
      byteCount += chunk.data.length;
      if (byteCount < FRAME_BYTES) continue;
      yield this.#frame(labelBytes, chunks, query);
      chunks = [];
      byteCount = labelBytes.length;
    }
    if (chunks.length > 0) yield this.#frame(labelBytes, chunks, query);
  }

  #frame(labels: Uint8Array, chunks: readonly Chunk[], query: number): Uint8Array {
    const out = this.#out;
    out.message(CHUNKED_SERIES, () => {
      out.raw(labels);
      for (const chunk of chunks) writeChunk(out, chunk);
    });
    if (query > 0) {
      out.byte(QUERY_INDEX);
      out.varint(query);
    }
    const message = out.take();
    out.varint(message.length);
    out.uint32BE(crc32c(message));
    out.raw(message);
    return out.take();
  }
}

/** Writes a chunk, without fields that are 0, as protobuf omits default values. */
function writeChunk(out: WireWriter, { minMs, maxMs, encoding, data }: Chunk): void {
  out.message(CHUNK, () => {
    for (const [tag, value] of [
      [MIN_TIME, minMs],
      [MAX_TIME, maxMs],
      [ENCODING, encoding],
    ] as const) {
      if (value === 0) continue;
      out.byte(tag);
      out.varint(value);
    }
    out.bytes(DATA, data);
  });
}
