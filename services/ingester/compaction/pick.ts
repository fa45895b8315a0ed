import type { SortedRun } from './runs.js';

export interface PickOptions {
  /** Fewer are not worth a merge. */
  readonly runsMin: number;
  /** So many times the rows of all others a run may have: a great one is not written anew for a few small ones. */
  readonly ratio: number;
  /** More than so many runs of a window are merged even if they do not fit together. */
  readonly runsMax: number;
}

/** Runs that one merge takes at most. */
const MERGED_MAX = 32;

/**
 * Which neighbours of a chain are worth a merge: of those that are alike in size the most, and of these the smallest.
 * Each row is written about once for each power of `runsMin` in the number of runs (HBase's exploring compaction).
 */
export function pickRuns(chain: readonly SortedRun[], options: PickOptions): readonly SortedRun[] {
  const { runsMin, runsMax } = options;
  let best: readonly SortedRun[] = [];
  let bestRows = 0;
  let smallest: readonly SortedRun[] = [];
  let smallestRows = Infinity;
  for (let from = 0; from + runsMin <= chain.length; from++) {
    let rowCount = 0;
    let greatest = 0;
    for (let to = from; to < Math.min(chain.length, from + MERGED_MAX); to++) {
      rowCount += chain[to].rowCount;
      greatest = Math.max(greatest, chain[to].rowCount);
      const count = to + 1 - from;
      if (count < runsMin) continue;
      if (count === runsMin && rowCount < smallestRows) {
        smallest = chain.slice(from, to + 1);
        smallestRows = rowCount;
      }
      if (greatest > options.ratio * (rowCount - greatest)) continue;
      if (count < best.length || (count === best.length && rowCount >= bestRows)) continue;
      best = chain.slice(from, to + 1);
      bestRows = rowCount;
    }
  }
  return best.length === 0 && chain.length > runsMax ? smallest : best;
}
