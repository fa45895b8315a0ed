import type { Clock } from '#shared/clock/clock';

import type { Wal } from '../wal/wal.js';
import type { WalFile } from '../wal/wal-files.js';
import type { Region } from './region.js';
import type { Regions } from './regions.js';

export interface ForgetOptions {
  readonly wal: Wal;
  readonly regions: Regions;
  readonly clock: Clock;
  /** Files younger than this stay, for the batch ids in them, unless the log is above its size limit. */
  readonly retryWindowMs: number;
  readonly bytesMax: number;
}

/** Deletes the oldest files of the log while none of their rows is needed for recovery. */
export async function forgetFiles({ wal, regions, clock, retryWindowMs, bytesMax }: ForgetOptions): Promise<void> {
  while (wal.files.length > 1) {
    const [oldest] = wal.files;
    const isYoung = oldest.lastWriteMs > clock.nowMs() - retryWindowMs;
    if ((isYoung && wal.bytes <= bytesMax) || pinning(oldest, regions).length > 0) return;
    await wal.forgetOldest();
  }
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
