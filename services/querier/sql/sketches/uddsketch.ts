import { AlmanacError } from '#shared/errors/almanac-error';

/**
 * Sketch of a distribution with a bounded relative error (Epicoco et al., "UDDSketch", 2020). Bucket `i` counts the values of
 * `(g^(i-1), g^i]` with `g = (1 + error) / (1 - error)`. With more than `bucketsMax` buckets, pairs of neighbours merge and g
 * is squared.
 */
export interface UddSketch {
  readonly bucketsMax: number;
  /** Relative error at the start, before any merge of buckets. */
  readonly error: number;
  /** How often g was squared. */
  readonly squarings: number;
  /** Counts by bucket: `index * 4 + 1` of positive values, `index * 4 + 2` of the absolute values of negative ones, 0 for zero. */
  readonly counts: ReadonlyMap<number, number>;
}

const BUCKETS_MAX = 100_000;
const VERSION = 1;
const HEADER_BYTES = 1 + 4 + 8 + 4 + 4;
const ENTRY_BYTES = 16;

/** Creates a sketch of counted buckets. @throws `execute_query` for parameters out of range. */
export function sketchOf(
  bucketsMax: number,
  error: number,
  keys: readonly number[],
  counts: readonly number[],
): UddSketch {
  if (!Number.isInteger(bucketsMax) || bucketsMax < 1 || bucketsMax > BUCKETS_MAX) {
    throw new AlmanacError('execute_query', `UDDSketch needs 1 to ${BUCKETS_MAX} buckets, got ${bucketsMax}`);
  }
  if (!(error > 0 && error < 1)) {
    throw new AlmanacError('execute_query', `error rate of a UDDSketch must be between 0 and 1, got ${error}`);
  }
  const sums = new Map<number, number>();
  for (const [i, key] of keys.entries()) sums.set(key, (sums.get(key) ?? 0) + counts[i]);
  return compacted({ bucketsMax, error, squarings: 0, counts: sums });
}

/** Merges two sketches. @throws `execute_query` if their parameters differ. */
export function mergeSketches(left: UddSketch, right: UddSketch): UddSketch {
  checkParameters(right, left.bucketsMax, left.error);
  const squarings = Math.max(left.squarings, right.squarings);
  const counts = new Map(squaredTo(left, squarings).counts);
  for (const [key, count] of squaredTo(right, squarings).counts) counts.set(key, (counts.get(key) ?? 0) + count);
  return compacted({ ...left, squarings, counts });
}

/** @throws `execute_query` if a sketch has other parameters. */
export function checkParameters(sketch: UddSketch, bucketsMax: number, error: number): void {
  if (sketch.bucketsMax === bucketsMax && sketch.error === error) return;
  throw new AlmanacError(
    'execute_query',
    `Merging UDDSketch with different parameters: arguments=(${bucketsMax}, ${error}) vs actual input=(${sketch.bucketsMax}, ${sketch.error})`,
  );
}

/** Returns the estimate of a quantile, from 0 to 1; null for a sketch without values. */
export function sketchQuantile(sketch: UddSketch, quantile: number): number | null {
  if (!(quantile >= 0 && quantile <= 1)) {
    throw new AlmanacError('execute_query', `quantile must be between 0 and 1, got ${quantile}`);
  }
  const buckets = [...sketch.counts].map(([key, count]) => ({ estimate: estimateOf(sketch, key), count }));
  buckets.sort((a, b) => a.estimate - b.estimate);
  const total = buckets.reduce((sum, { count }) => sum + count, 0);
  let remaining = Math.floor(total * quantile) + 1;
  for (const { estimate, count } of buckets) {
    if (remaining <= count) return estimate;
    remaining -= count;
  }
  return buckets.at(-1)?.estimate ?? null;
}

/** Returns the value that represents a bucket: at most the relative error away from each of its values. */
function estimateOf(sketch: UddSketch, key: number): number {
  if (key === 0) return 0;
  const index = Math.floor(key / 4);
  const g = ((1 + sketch.error) / (1 - sketch.error)) ** (2 ** sketch.squarings);
  const size = (2 * g ** index) / (g + 1);
  return key - index * 4 === 2 ? -size : size;
}

function compacted(sketch: UddSketch): UddSketch {
  let result = sketch;
  while (result.counts.size > result.bucketsMax && result.squarings < 64) {
    result = squaredTo(result, result.squarings + 1);
  }
  return result;
}

function squaredTo(sketch: UddSketch, squarings: number): UddSketch {
  let counts = sketch.counts;
  for (let i = sketch.squarings; i < squarings; i++) {
    const merged = new Map<number, number>();
    for (const [key, count] of counts) {
      const index = Math.floor(key / 4);
      const target = key === 0 ? 0 : Math.ceil(index / 2) * 4 + (key - index * 4);
      merged.set(target, (merged.get(target) ?? 0) + count);
    }
    counts = merged;
  }
  return { ...sketch, squarings, counts };
}

/**
 * Encodes a sketch, little-endian:
 *
 *     +---------+----------------+-----------+---------------+-------------+---------------------------+
 *     | version | bucketsMax u32 | error f64 | squarings u32 | entries u32 | key f64, count f64, again |
 *     +---------+----------------+-----------+---------------+-------------+---------------------------+
 */
export function encodeSketch({ bucketsMax, error, squarings, counts }: UddSketch): Uint8Array {
  const bytes = Buffer.alloc(HEADER_BYTES + counts.size * ENTRY_BYTES);
  bytes.writeUInt8(VERSION, 0);
  bytes.writeUInt32LE(bucketsMax, 1);
  bytes.writeDoubleLE(error, 5);
  bytes.writeUInt32LE(squarings, 13);
  bytes.writeUInt32LE(counts.size, 17);
  let at = HEADER_BYTES;
  for (const [key, count] of counts) {
    bytes.writeDoubleLE(key, at);
    bytes.writeDoubleLE(count, at + 8);
    at += ENTRY_BYTES;
  }
  return bytes;
}

/** Decodes a sketch. @throws `execute_query` if the bytes are none. */
export function decodeSketch(state: Uint8Array): UddSketch {
  const bytes = Buffer.from(state.buffer, state.byteOffset, state.byteLength);
  const entries = bytes.length >= HEADER_BYTES && bytes.readUInt8(0) === VERSION ? bytes.readUInt32LE(17) : -1;
  if (bytes.length !== HEADER_BYTES + entries * ENTRY_BYTES) {
    throw new AlmanacError('execute_query', 'binary value is no UDDSketch state');
  }
  const counts = new Map<number, number>();
  for (let at = HEADER_BYTES; at < bytes.length; at += ENTRY_BYTES) {
    counts.set(bytes.readDoubleLE(at), bytes.readDoubleLE(at + 8));
  }
  return {
    bucketsMax: bytes.readUInt32LE(1),
    error: bytes.readDoubleLE(5),
    squarings: Math.min(bytes.readUInt32LE(13), 64),
    counts,
  };
}
