import { thisMachine } from '#shared/config/env';
import type { Config } from '#shared/config/schema';
import { cacheShares } from '#shared/limits/cache-shares';
import { shareOf } from '#shared/limits/share';
import { metricNames } from '#shared/schema/metric-table';

import type { PromLimits } from './rpc/prom/evaluation.js';
import type { SqlLimits } from './rpc/sql.js';

export interface QuerierConfig {
  readonly storeFolder: string;
  /** Folder that queries spill to. */
  readonly spillFolder: string;
  readonly threads: number;
  readonly memoryBytes: number;
  /** What decoded samples may take. */
  readonly sampleCacheBytes: number;
  /** What labels may take that were made for queries. */
  readonly labelCacheBytes: number;
  readonly limits: SqlLimits;
  readonly promql: PromLimits;
  readonly runs: {
    /** Queries that run at once, and that wait. */
    readonly concurrent: number;
    readonly queue: number;
    /** Memory of the whole process at which queries are ended. */
    readonly processBytes: number;
  };
  /** Catalog name in messages. */
  readonly catalogName: string;
}

export interface QuerierPlace {
  /** Absolute. */
  readonly dataFolder: string;
  /** Of this querier alone. */
  readonly spillFolder: string;
}

/** Of the memory limit: what is above its shares (code, buffers of the system's allocator) is not counted by anybody. */
const PROCESS_SHARE = 1.1;

/** What the configuration means for a querier at this place. */
export function querierSettings(config: Config, place: QuerierPlace): QuerierConfig {
  const { memory, naming, promql, query } = config;
  const caches = cacheShares(memory, promql.resultCacheBytes);
  return {
    storeFolder: `${place.dataFolder}/store`,
    spillFolder: place.spillFolder,
    threads: query.parallelism === 0 ? thisMachine().coreCount : query.parallelism,
    memoryBytes: shareOf(memory.limitBytes, memory.queryPercent),
    sampleCacheBytes: caches.samples,
    labelCacheBytes: caches.labels,
    limits: {
      maxTimeoutMs: query.maxTimeoutMs,
      planCacheEntries: query.planCacheEntries,
    },
    promql: {
      lookbackMs: promql.lookbackMs,
      timeoutMs: promql.timeoutMs,
      samplesMax: promql.maxSamples,
      isExperimental: promql.experimental,
      resultCacheBytes: caches.results,
      names: metricNames(config),
    },
    runs: {
      concurrent: query.maxConcurrent,
      queue: query.queue,
      processBytes: memory.limitBytes * PROCESS_SHARE,
    },
    catalogName: naming,
  };
}
