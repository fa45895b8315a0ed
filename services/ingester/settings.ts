import { thisMachine } from '#shared/config/env';
import type { Config } from '#shared/config/schema';
import { shareOf } from '#shared/limits/share';

import type { IngesterConfig } from './index.js';

export interface IngesterPlace {
  readonly nodeId: number;
  /** Absolute. */
  readonly dataFolder: string;
  readonly walFolder: string;
  /** Of this ingester alone: it is emptied at the start. */
  readonly scratchFolder: string;
}

/** What the configuration means for an ingester at this place. */
export function ingesterSettings({ wal, ingester, storage, memory }: Config, place: IngesterPlace): IngesterConfig {
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
    memtableBytes: shareOf(memory.limitBytes, memory.memtablePercent),
    engineBytes: shareOf(memory.limitBytes, memory.enginePercent),
    recoveryThreads: coreCount,
    engineThreads: Math.max(1, Math.floor(coreCount / 2)),
  };
}
