import { thisMachine } from '#shared/config/env';
import type { Config } from '#shared/config/schema';
import { shareOf } from '#shared/limits/share';

import type { SqlLimits } from './rpc/sql.js';

export interface QuerierConfig {
  readonly storeFolder: string;
  /** Folder that queries spill to. */
  readonly spillFolder: string;
  readonly threads: number;
  readonly memoryBytes: number;
  readonly limits: SqlLimits;
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
export function querierSettings({ query, memory, naming }: Config, place: QuerierPlace): QuerierConfig {
  return {
    storeFolder: `${place.dataFolder}/store`,
    spillFolder: place.spillFolder,
    threads: query.parallelism === 0 ? thisMachine().coreCount : query.parallelism,
    memoryBytes: shareOf(memory.limitBytes, memory.queryPercent),
    limits: {
      maxTimeoutMs: query.maxTimeoutMs,
      concurrent: query.maxConcurrent,
      queue: query.queue,
      planCacheEntries: query.planCacheEntries,
      processBytes: memory.limitBytes * PROCESS_SHARE,
    },
    catalogName: naming,
  };
}
