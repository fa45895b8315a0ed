import { shareOf } from './share.js';

/** What each cache of a process may take; together no more than the share of the memory for caches. */
export interface CacheShares {
  /** Series as senders write them. */
  readonly seriesKeys: number;
  /** Buffers of request bodies. */
  readonly bodyBuffers: number;
  /** Arrays of finished batches. */
  readonly builders: number;
  /** Labels that were made for queries. */
  readonly labels: number;
  /** Answers of range queries, at most. */
  readonly results: number;
  /** Decoded samples: what the others leave. */
  readonly samples: number;
}

const SERIES_KEYS_MAX = 256 * 1024 * 1024;
const POOL_MAX = 32 * 1024 * 1024;

/** @param resultBytes what is configured for answers; they get no more than a fifth. */
export function cacheShares(
  { limitBytes, cachePercent }: { readonly limitBytes: number; readonly cachePercent: number },
  resultBytes: number,
): CacheShares {
  const all = shareOf(limitBytes, cachePercent);
  const others = {
    seriesKeys: Math.min(SERIES_KEYS_MAX, shareOf(all, 40)),
    bodyBuffers: Math.min(POOL_MAX, shareOf(all, 10)),
    builders: Math.min(POOL_MAX, shareOf(all, 10)),
    labels: shareOf(all, 10),
    results: Math.min(resultBytes, shareOf(all, 20)),
  };
  const taken = Object.values(others).reduce((sum, bytes) => sum + bytes, 0);
  return { ...others, samples: all - taken };
}
