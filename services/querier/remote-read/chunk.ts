/** Encodings of chunks, as on the wire. */
export const XOR_CHUNK = 1;
export const HISTOGRAM_CHUNK = 2;
export const FLOAT_HISTOGRAM_CHUNK = 3;

/** Samples of one series in Prometheus's own encoding. */
export interface Chunk {
  readonly minMs: number;
  readonly maxMs: number;
  readonly encoding: typeof XOR_CHUNK | typeof HISTOGRAM_CHUNK | typeof FLOAT_HISTOGRAM_CHUNK;
  readonly data: Uint8Array;
}

/** Most samples of a chunk, as in Prometheus. */
export const CHUNK_SAMPLES_MAX = 120;
