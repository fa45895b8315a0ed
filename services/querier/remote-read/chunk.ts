/** Encodings of chunks, as on the wire. */
export const XOR = 1;
export const HISTOGRAM = 2;
export const FLOAT_HISTOGRAM = 3;

/** Samples of one series in Prometheus's own encoding. */
export interface Chunk {
  readonly minMs: number;
  readonly maxMs: number;
  readonly encoding: typeof XOR | typeof HISTOGRAM | typeof FLOAT_HISTOGRAM;
  readonly data: Uint8Array;
}

/** Most samples of a chunk, as in Prometheus. */
export const CHUNK_SAMPLES_MAX = 120;
