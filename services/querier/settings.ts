import { resolve } from 'node:path';

import { thisMachine } from '#shared/config/env';
import type { Config } from '#shared/config/schema';
import { cacheShares } from '#shared/limits/cache-shares';
import { budgetOf, shareOf } from '#shared/limits/share';
import { metricNames } from '#shared/schema/metric-table';

import type { ColumnCacheLimits } from './columns/column-cache.js';
import type { PromLimits } from './rpc/prom/evaluation.js';
import type { SqlLimits } from './rpc/sql.js';

/** Settings of a querier. */
export interface QuerierConfig {
  readonly storeFolder: string;
  /** Folder of files that SQL may read and write; undefined: none. */
  readonly copyRoot: string | undefined;
  /** Folder for data that queries spill to disk. */
  readonly spillFolder: string;
  /** Address of a standalone process, as its list of processes names it. */
  readonly addr: string;
  readonly threads: number;
  /** Memory of the engine. */
  readonly memoryBytes: number;
  /** Memory for decoded samples. */
  readonly sampleCacheBytes: number;
  /** Memory for indexes of series, which can have a part of that for samples, too. */
  readonly seriesIndexBytes: number;
  /** Memory for what is kept of segments. */
  readonly columnCache: ColumnCacheLimits;
  /** Memory for label sets that were built for queries. */
  readonly labelCacheBytes: number;
  /** Memory of all queries that kernels run at once; undefined: the engine runs all SQL. */
  readonly kernelBytes: number | undefined;
  /** Number of values from which other threads read a query's rows. */
  readonly threadValuesMin: number;
  /** Memory for decoded columns of all worker threads together, in bytes. */
  readonly scanBytes: number;
  /** Memory for results of SQL queries. */
  readonly resultCacheBytes: number;
  readonly limits: SqlLimits;
  readonly promql: PromLimits;
  readonly runs: {
    /** Concurrent and waiting queries. */
    readonly concurrent: number;
    readonly queue: number;
    /** Memory of the whole process at which queries are ended. */
    readonly processBytes: number;
  };
  /** Catalog name in messages. */
  readonly catalogName: string;
  /** Pause between two looks of a flow for changes. */
  readonly flowIntervalMs: number;
  /** File for the latest queries, which run again after a restart; undefined: none do. */
  readonly warmUpFile: string | undefined;
}

/** Folders of a querier. */
export interface QuerierPlace {
  /** Absolute path. */
  readonly dataFolder: string;
  /** Used by this querier alone, as the file. */
  readonly spillFolder: string;
  readonly warmUpFile: string;
}

/** Allows for memory outside the shares of the limit: code, buffers of the system's allocator. */
const PROCESS_SHARE = 1.1;

/** Parts of the memory for columns. Footers and runs are small, and save most of the time of a first query. */
const FOOTER_PERCENT = 15;
const RUN_PERCENT = 20;
const VALUE_PERCENT = 65;
/** What the others leave of the memory for queries is for the engine up to this size; decoded columns get a part of the rest. */
const ENGINE_BYTES_MIN = 128 * 2 ** 20;
const COLUMN_PERCENT = 50;
/** Part of that for the threads that scan, of which each keeps its own columns. */
const SCAN_PERCENT = 50;
/** Part of the memory for values that one query may use, so that others find theirs. */
const VALUE_PERCENT_OF_QUERY = 50;
/** Parts of the memory for queries that kernels get: for what a query needs, and for sorted unflushed rows. */
const KERNEL_PERCENT = 10;
const FRESH_PERCENT = 10;
/** Part of it for the last rows of runs: 16 MiB of 800 have those of 75 million rows with ten fields. */
const LAST_PERCENT = 2;
/** Part of it for indexes of series: the engine can use the disk, an index cannot. */
const INDEX_PERCENT = 20;
/** Part of it for results that are kept, at most. */
const RESULT_PERCENT = 5;

/** Derives the settings of a querier from the configuration. */
export function querierSettings(config: Config, place: QuerierPlace): QuerierConfig {
  const { http, memory, naming, promql, query, storage } = config;
  const caches = cacheShares(memory, promql.resultCacheBytes);
  const queryBytes = budgetOf(memory.limitBytes, memory.queryPercent);
  const kernelBytes = query.kernels ? shareOf(queryBytes, KERNEL_PERCENT) : 0;
  const freshBytes = query.kernels ? shareOf(queryBytes, FRESH_PERCENT) : 0;
  const lastBytes = query.kernels ? shareOf(queryBytes, LAST_PERCENT) : 0;
  const seriesIndexBytes = shareOf(queryBytes, INDEX_PERCENT);
  const resultCacheBytes = query.kernels ? Math.min(query.resultCacheBytes, shareOf(queryBytes, RESULT_PERCENT)) : 0;
  const engineBytes = queryBytes - kernelBytes - freshBytes - lastBytes - resultCacheBytes - seriesIndexBytes;
  const columnBytes = query.kernels ? shareOf(Math.max(0, engineBytes - ENGINE_BYTES_MIN), COLUMN_PERCENT) : 0;
  const scanBytes = shareOf(columnBytes, SCAN_PERCENT);
  const valueBytes = query.kernels ? shareOf(caches.columns, VALUE_PERCENT) + columnBytes - scanBytes : 0;
  return {
    storeFolder: `${place.dataFolder}/store`,
    copyRoot: storage.copyRoot === undefined ? undefined : resolve(storage.copyRoot),
    spillFolder: place.spillFolder,
    addr: http.addr,
    threads: query.parallelism === 0 ? thisMachine().coreCount : query.parallelism,
    memoryBytes: engineBytes - columnBytes,
    sampleCacheBytes: caches.samples,
    seriesIndexBytes,
    columnCache: {
      footerBytes: shareOf(caches.columns, FOOTER_PERCENT),
      runBytes: shareOf(caches.columns, RUN_PERCENT),
      valueBytes,
      valueBytesOfQuery: shareOf(valueBytes, VALUE_PERCENT_OF_QUERY),
      lastBytes,
      freshBytes,
    },
    labelCacheBytes: caches.labels,
    kernelBytes: query.kernels ? kernelBytes : undefined,
    threadValuesMin: query.threadMinValues,
    scanBytes,
    resultCacheBytes,
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
    flowIntervalMs: config.flow.intervalMs,
    warmUpFile: query.warmUp ? place.warmUpFile : undefined,
  };
}
