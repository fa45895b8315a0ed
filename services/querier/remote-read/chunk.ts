/** Encoding of a chunk of floats, as on the wire. */
export const XOR_CHUNK = 1;
/** Encoding of a chunk of native histograms with integer counts, as on the wire. */
export const HISTOGRAM_CHUNK = 2;
/** Encoding of a chunk of native histograms with float counts, as on the wire. */
export const FLOAT_HISTOGRAM_CHUNK = 3;

/** Samples of one series in a chunk encoding of Prometheus. */
export interface Chunk {
  readonly minMs: number;
  readonly maxMs: number;
  readonly encoding: typeof XOR_CHUNK | typeof HISTOGRAM_CHUNK | typeof FLOAT_HISTOGRAM_CHUNK;
  readonly data: Uint8Array;
}

/** Largest number of samples in a chunk, as in Prometheus. */
export const CHUNK_SAMPLES_MAX = 120;
