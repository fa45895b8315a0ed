import type { SortedRun } from './runs.js';

/** Which merges are worth their cost. */
export interface PickOptions {
  /** Fewer runs are not worth a merge. */
  readonly runsMin: number;
  /**
   * Greatest ratio of a run's rows to those of all others together: a large run is not rewritten for a few small ones.
   */
  readonly ratio: number;
  /** Above this number of runs in a window, some are merged even if their sizes do not match. */
  readonly runsMax: number;
}

/** Greatest number of runs in one merge. */
const MERGED_MAX = 32;

/**
 * Picks adjacent runs that are worth a merge: as many of similar size as possible, and among these the smallest. Each
 * row is rewritten about once for each power of `runsMin` in the number of runs (HBase's exploring compaction).
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
