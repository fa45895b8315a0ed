import type { RegionManifest } from '#shared/contracts/gen/common';

import type { SampleSeries } from '../../promql/runtime/samples.js';
import type { LabelIndex } from '../../series/label-index.js';
import type { Labels } from '../../series/labels.js';
import type { SampleColumns } from '../sample-slice.js';
import type { TimeRange } from '../segment-requests.js';

/** What the series of a region depend on, apart from their unflushed rows. */
export interface RegionBasis {
  /** Position of the region in the table. */
  readonly at: number;
  readonly index: LabelIndex;
  readonly manifest: RegionManifest;
  /** Series that match, ascending. */
  readonly sids: Int32Array;
  /** Number of series of the index that were compared with the selector. */
  readonly seriesCount: number;
}

/** Series with unflushed rows. */
export interface LiveBlock {
  readonly series: readonly SampleSeries[];
  /** Memory of samples that the block does not have. */
  readonly bytes: number;
}

/** The series of one region and field. */
export interface BlockGroup {
  /** Position of the region in the table. */
  readonly at: number;
  /** Series that match, ascending, with or without samples. */
  readonly sids: Int32Array;
  readonly columns: SampleColumns;
  readonly labelsOf: (sid: number) => Labels;
  /** Positions of the series of the block. */
  readonly positions: ReadonlyMap<number, number>;
}

/** The flushed samples of all series that a selector matches, in a range of times that is wider than that of one query. */
export interface SeriesBlock {
  readonly bases: readonly RegionBasis[];
  readonly range: TimeRange;
  /** The same array for all queries, so that what is computed from it can be kept. */
  readonly series: readonly SampleSeries[];
  /** Whether all samples are floats without start times. */
  readonly isPlain: boolean;
  readonly groups: readonly BlockGroup[];
  /** The same series with the unflushed rows of the last query that read some. */
  readonly live: LiveBlock | undefined;
}

interface CachedBlock extends SeriesBlock {
  readonly bytes: number;
}

/** Memory of a series without its samples, and of a block without its series. */
const SERIES_BYTES = 300;
const BLOCK_BYTES = 1000;
/** Least memory of a sample: its value. */
const SAMPLE_BYTES = 8;
/** Queries that do not build a block again which was too large, and selectors for which that is known. */
const QUERIES_WITHOUT = 64;
const TOO_LARGE_MAX = 1000;
/** Largest share of the cache for one block. */
const BLOCK_SHARE = 0.5;
/** Granularity of a block's times: a moving window stays in its block for most queries. */
const BLOCK_MS = 2 * 3_600_000;

/** Cache of the samples that selectors match, ready for evaluation. Evicts the least recently used ones. */
export class SeriesBlocks {
  readonly #limitBytes: () => number;
  /** By table and selector, least recently used first. A key starts with the table's ID and a space. */
  readonly #blocks = new Map<string, CachedBlock>();
  /** Queries that each selector's block should not be built for. */
  readonly #tooLarge = new Map<string, number>();
  #bytes = 0;

  /** @param limitBytes returns the memory that the blocks may have. */
  constructor(limitBytes: () => number) {
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

  /** Reports whether a block with that many samples and series can be kept, as far as that is known. */
  fits(key: string, samples: number, series: number): boolean {
    const left = this.#tooLarge.get(key) ?? 0;
    if (left > 0) {
      this.#tooLarge.set(key, left - 1);
      return false;
    }
    return samples * SAMPLE_BYTES + series * SERIES_BYTES <= this.#limitBytes() * BLOCK_SHARE;
  }

  /** Replaces the block of a selector, unless it is too large. */
  keep(key: string, block: SeriesBlock): void {
    this.#remove(key);
    const bytes = key.length * 2 + bytesOf(block);
    if (bytes > this.#limitBytes() * BLOCK_SHARE) {
      if (this.#tooLarge.size >= TOO_LARGE_MAX) this.#tooLarge.clear();
      this.#tooLarge.set(key, QUERIES_WITHOUT);
      return;
    }
    this.#blocks.set(key, { ...block, bytes });
    this.#bytes += bytes;
    const limitBytes = this.#limitBytes();
    for (const oldest of this.#blocks.keys()) {
      if (this.#bytes <= limitBytes) break;
      this.#remove(oldest);
    }
  }

  /** Removes the blocks of a table, except those of the given indexes: a block keeps its index in memory. */
  removeTable(tableId: number, indexes: ReadonlySet<LabelIndex> = new Set()): void {
    for (const [key, { bases }] of this.#blocks) {
      const isOther = key.startsWith(`${tableId} `) && !bases.every(({ index }) => indexes.has(index));
      if (isOther) this.#remove(key);
    }
  }

  /** Removes the blocks that keep an index in memory. */
  removeIndex(index: LabelIndex): void {
    for (const [key, { bases }] of this.#blocks) if (bases.some((base) => base.index === index)) this.#remove(key);
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

function bytesOf({ bases, live, series }: SeriesBlock): number {
  const times = new Set<Float64Array>();
  let bytes = BLOCK_BYTES + series.length * SERIES_BYTES + (live?.bytes ?? 0);
  for (const { sids } of bases) bytes += sids.byteLength;
  for (const { times: own, values, stale } of series) {
    times.add(own);
    // Without its staleness markers a series is kept a second time.
    bytes += values.byteLength * (stale === undefined ? 1 : 2) + (stale?.byteLength ?? 0);
  }
  for (const { byteLength } of times) bytes += byteLength;
  return bytes;
}
