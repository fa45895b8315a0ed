import { budgetOf, shareOf } from './share.js';

/** Bytes that each cache of a process may use; their sum never exceeds the caches' share of the memory limit. */
export interface CacheShares {
  /** Series keys as senders write them. */
  readonly seriesKeys: number;
  /** Buffers of request bodies. */
  readonly bodyBuffers: number;
  /** Arrays of finished batches. */
  readonly builders: number;
  /** Label sets that were built for queries. */
  readonly labels: number;
  /** Results of range queries, at most. */
  readonly results: number;
  /** Decoded columns of segments. */
  readonly columns: number;
  /** Decoded samples: the rest. */
  readonly samples: number;
}

const SERIES_KEYS_MAX = 256 * 1024 * 1024;
const POOL_MAX = 32 * 1024 * 1024;

/** Computes the shares. @param resultBytes configured size of the result cache, which gets at most a fifth. */
export function cacheShares(
  { limitBytes, cachePercent }: { readonly limitBytes: number; readonly cachePercent: number },
  resultBytes: number,
): CacheShares {
  const all = budgetOf(limitBytes, cachePercent);
  const others = {
    seriesKeys: Math.min(SERIES_KEYS_MAX, shareOf(all, 40)),
    bodyBuffers: Math.min(POOL_MAX, shareOf(all, 10)),
    builders: Math.min(POOL_MAX, shareOf(all, 10)),
    labels: shareOf(all, 10),
    results: Math.min(resultBytes, shareOf(all, 20)),
    columns: shareOf(all, 7),
  };
  const taken = Object.values(others).reduce((sum, bytes) => sum + bytes, 0);
  return { ...others, samples: all - taken };
}
