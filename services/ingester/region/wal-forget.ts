import type { Clock } from '#shared/clock/clock';

import type { Wal } from '../wal/wal.js';
import type { WalFile } from '../wal/wal-files.js';
import type { KeptIds } from './kept-ids.js';
import type { Region } from './region.js';
import type { Regions } from './regions.js';

export interface ForgetOptions {
  readonly wal: Wal;
  readonly regions: Regions;
  readonly keptIds: KeptIds;
  readonly clock: Clock;
  /** Files younger than this stay, for the batch ids in them, unless the log is above its size limit. */
  readonly retryWindowMs: number;
  readonly bytesMax: number;
}

/** Deletes the oldest files of the log while none of their rows is needed for recovery. */
export async function forgetFiles(options: ForgetOptions): Promise<void> {
  const { wal, regions, keptIds } = options;
  if (!isForgettable(options)) return;
  // What is kept of a row must not outlast it.
  await wal.syncNow();
  await keptIds.save(regions.open);
  while (isForgettable(options)) await wal.forgetOldest();
}

function isForgettable({ wal, regions, clock, retryWindowMs, bytesMax }: ForgetOptions): boolean {
  if (wal.files.length <= 1) return false;
  const [oldest] = wal.files;
  const isYoung = oldest.lastWriteMs > clock.nowMs() - retryWindowMs;
  return (!isYoung || wal.bytes > bytesMax) && pinning(oldest, regions).length === 0;
}

/** Regions that have rows in the file which are in no segment yet. */
export function pinning(file: WalFile, regions: Regions): Region[] {
  const pinned: Region[] = [];
  for (const [regionId, sequence] of file.lastSequences) {
    const region = regions.find(regionId);
    if (region !== undefined && region.manifest.watermark < sequence) pinned.push(region);
  }
  return pinned;
}
