import type { Slices } from '#shared/clock/slices';
import type { RegionManifest } from '#shared/contracts/gen/common';

import type { SampleSeries } from '../promql/runtime/samples.js';
import type { LabelIndex } from '../series/label-index.js';
import type { TimeRange } from './segment-requests.js';

/** What the series of a region depend on, apart from their unflushed rows. */
export interface RegionBasis {
  readonly index: LabelIndex;
  readonly manifest: RegionManifest;
  /** Series that match, ascending. */
  readonly sids: Int32Array;
  /** Number of series of the index that were compared with the selector. */
  readonly seriesCount: number;
}

/** The flushed samples of all series that a selector matches, in a range of times that is wider than that of one query. */
export interface SeriesBlock {
  readonly bases: readonly RegionBasis[];
  readonly range: TimeRange;
  /** The same array for all queries, so that what is computed from it can be kept. */
  readonly series: readonly SampleSeries[];
  /** Whether all samples are floats without start times. */
  readonly isPlain: boolean;
}

interface CachedBlock extends SeriesBlock {
  readonly bytes: number;
}

/** Memory of a series without its samples, and of a block without its series. */
const SERIES_BYTES = 200;
const BLOCK_BYTES = 1000;
/** Largest share of the cache for one block. */
const BLOCK_SHARE = 0.5;
/** Granularity of a block's times: a moving window stays in its block for most queries. */
const BLOCK_MS = 2 * 3_600_000;

/** Cache of the samples that selectors match, ready for evaluation. Evicts the least recently used ones. */
export class SeriesBlocks {
  readonly #limitBytes: number;
  /** By table and selector, least recently used first. */
  readonly #blocks = new Map<string, CachedBlock>();
  #bytes = 0;

  constructor(limitBytes: number) {
    this.#limitBytes = limitBytes;
  }

  /** Returns the last block of a selector, whatever it was built from. */
  find(key: string): SeriesBlock | undefined {
    const block = this.#blocks.get(key);
    if (block === undefined) return undefined;
    this.#blocks.delete(key);
    this.#blocks.set(key, block);
    return block;
  }

  /** Replaces the block of a selector, unless it is too large. */
  keep(key: string, block: SeriesBlock): void {
    this.#remove(key);
    const bytes = key.length * 2 + bytesOf(block);
    if (bytes > this.#limitBytes * BLOCK_SHARE) return;
    this.#blocks.set(key, { ...block, bytes });
    this.#bytes += bytes;
    for (const oldest of this.#blocks.keys()) {
      if (this.#bytes <= this.#limitBytes) break;
      this.#remove(oldest);
    }
  }

  #remove(key: string): void {
    const block = this.#blocks.get(key);
    if (block === undefined) return;
    this.#blocks.delete(key);
    this.#bytes -= block.bytes;
  }
}

/** Returns the range of the block for a query's range, joined with that of the previous block if they overlap. */
export function blockRange({ fromMs, toMs }: TimeRange, previous: TimeRange | undefined): TimeRange {
  const range = { fromMs: Math.floor(fromMs / BLOCK_MS) * BLOCK_MS, toMs: Math.ceil(toMs / BLOCK_MS) * BLOCK_MS };
  if (previous === undefined || previous.fromMs > range.toMs || previous.toMs < range.fromMs) return range;
  const joined = {
    fromMs: Math.min(range.fromMs, previous.fromMs),
    toMs: Math.max(range.toMs, previous.toMs),
  };
  // A window that moves for days must not collect them all.
  return joined.toMs - joined.fromMs <= 2 * (range.toMs - range.fromMs) + BLOCK_MS ? joined : range;
}

function bytesOf({ bases, series }: SeriesBlock): number {
  const times = new Set<Float64Array>();
  let bytes = BLOCK_BYTES + series.length * SERIES_BYTES;
  for (const { sids } of bases) bytes += sids.byteLength;
  for (const { times: own, values, stale } of series) {
    times.add(own);
    // Without its staleness markers a series is kept a second time.
    bytes += values.byteLength * (stale === undefined ? 1 : 2) + (stale?.byteLength ?? 0);
  }
  for (const { byteLength } of times) bytes += byteLength;
  return bytes;
}

/** Finds equal arrays of times: all series of a target are scraped at the same times. */
export class SharedTimes {
  readonly #byEnds = new Map<string, Float64Array[]>();
  #last: Float64Array = new Float64Array(0);

  /** Returns an array with the same times that was passed before, or else `times`. */
  of(times: Float64Array): Float64Array {
    if (times.length === 0) return times;
    if (areEqual(this.#last, times)) return this.#last;
    const key = `${times.length} ${times[0]} ${times[times.length - 1]}`;
    const similar = this.#byEnds.get(key) ?? [];
    const known = similar.find((one) => areEqual(one, times));
    if (known === undefined) similar.push(times);
    if (similar.length === 1) this.#byEnds.set(key, similar);
    this.#last = known ?? times;
    return this.#last;
  }
}

function areEqual(one: Float64Array, other: Float64Array): boolean {
  if (one === other) return true;
  const { length } = one;
  if (length !== other.length || one[0] !== other[0] || one[length - 1] !== other[length - 1]) return false;
  for (let i = 0; i < length; i++) if (one[i] !== other[i]) return false;
  return true;
}

function areSameMarks(one: Uint8Array | undefined, other: Uint8Array | undefined): boolean {
  return one !== undefined && other !== undefined && Buffer.compare(one, other) === 0;
}

/** Makes series with equal times share one array, and neighbours with the same staleness markers another one. */
export async function withSharedTimes(all: readonly SampleSeries[], slices: Slices): Promise<SampleSeries[]> {
  const shared = new SharedTimes();
  const results: SampleSeries[] = [];
  let lastStale: Uint8Array | undefined;
  for (const series of all) {
    const times = shared.of(series.times);
    const stale = areSameMarks(series.stale, lastStale) ? lastStale : series.stale;
    lastStale = stale ?? lastStale;
    results.push(stale === undefined ? { ...series, times } : { ...series, times, stale });
    if (slices.isOver(series.times.length)) await slices.yield();
  }
  return results;
}
