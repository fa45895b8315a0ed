import { thisMachine } from '#shared/config/env';
import type { Config } from '#shared/config/schema';
import { budgetOf } from '#shared/limits/share';

import type { PickOptions } from './compaction/pick.js';
import type { SyncMode } from './wal/wal.js';

/** Settings of one ingester, derived from the configuration. */
export interface IngesterConfig {
  readonly nodeId: number;
  readonly walFolder: string;
  readonly scratchFolder: string;
  readonly storeFolder: string;
  readonly walSync: SyncMode;
  readonly walSyncIntervalMs: number;
  readonly walFileBytes: number;
  readonly walBytesMax: number;
  readonly walRecover: 'strict' | 'skip-corrupt';
  readonly retryWindowMs: number;
  readonly flushBytes: number;
  readonly flushIntervalMs: number;
  readonly windowMs: number;
  readonly gcGraceMs: number;
  readonly compaction: CompactionConfig;
  readonly memtableBytes: number;
  readonly engineBytes: number;
  /** Largest number of series of a table; 0: no limit. */
  readonly seriesMax: number;
  readonly engineThreads: number;
  /** Until the log is replayed, nothing else needs the cores. */
  readonly recoveryThreads: number;
  /** Whether regions are opened after the start; otherwise at first use. */
  readonly opensRegions: boolean;
  readonly regionsOpenedAtOnce: number;
}

/** Settings of merging segments. */
export interface CompactionConfig {
  /** Whether segments are merged in the background, not only by `ADMIN compact_table`. */
  readonly isAutomatic: boolean;
  /** Rest between two checks for segments to merge. */
  readonly intervalMs: number;
  readonly quietMs: number;
  /** What is worth merging while rows arrive. */
  readonly busy: PickOptions;
  readonly segmentRows: number;
}

const COMPACTION_INTERVAL_MS = 5_000;
/** While rows arrive: fewer runs make reads faster, more runs mean that fewer rows are rewritten. */
export const BUSY: PickOptions = { runsMin: 4, ratio: 1.2, runsMax: 12 };
/** A query for one series opens the one file of each window that has it, and reads a few row groups of it. */
const COMPACTED_ROWS = 1 << 19;

/** Folders and identity of one ingester. */
export interface IngesterLocation {
  readonly nodeId: number;
  /** Absolute path. */
  readonly dataFolder: string;
  readonly walFolder: string;
  /** Used by this ingester only; emptied at the start. */
  readonly scratchFolder: string;
}

/** Derives the settings of an ingester from the configuration. */
export function ingesterSettings(config: Config, place: IngesterLocation): IngesterConfig {
  const { wal, ingester, storage, memory, limits } = config;
  const { coreCount } = thisMachine();
  return {
    nodeId: place.nodeId,
    walFolder: place.walFolder,
    scratchFolder: place.scratchFolder,
    storeFolder: `${place.dataFolder}/store`,
    walSync: wal.sync,
    walSyncIntervalMs: wal.syncIntervalMs,
    walFileBytes: wal.fileSizeBytes,
    walBytesMax: wal.purgeThresholdBytes,
    walRecover: wal.recover,
    retryWindowMs: wal.retryWindowMs,
    flushBytes: ingester.flushBytes,
    flushIntervalMs: ingester.flushIntervalMs,
    windowMs: storage.windowMs,
    gcGraceMs: storage.gcGraceMs,
    compaction: {
      isAutomatic: ingester.compaction,
      intervalMs: COMPACTION_INTERVAL_MS,
      quietMs: ingester.flushIntervalMs,
      busy: BUSY,
      segmentRows: COMPACTED_ROWS,
    },
    seriesMax: limits.maxSeriesPerTable,
    memtableBytes: budgetOf(memory.limitBytes, memory.memtablePercent),
    engineBytes: budgetOf(memory.limitBytes, memory.enginePercent),
    recoveryThreads: coreCount,
    engineThreads: Math.max(1, Math.floor(coreCount / 2)),
    opensRegions: config.initRegionsInBackground,
    regionsOpenedAtOnce: config.initRegionsParallelism,
  };
}
