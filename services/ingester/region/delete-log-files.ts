import type { Clock } from '#shared/clock/clock';

import type { Wal } from '../wal/wal.js';
import type { WalFile } from '../wal/wal-files.js';
import type { AppliedIdsFile } from './applied-ids-file.js';
import type { Region } from './region.js';
import type { Regions } from './regions.js';

/** Log to clean up, and when its files may be deleted. */
export interface LogCleanupOptions {
  readonly wal: Wal;
  readonly regions: Regions;
  readonly appliedIds: AppliedIdsFile;
  readonly clock: Clock;
  /** Younger files are kept for the batch ids in them, unless the log is above its size limit. */
  readonly retryWindowMs: number;
  readonly bytesMax: number;
}

/** Deletes the oldest files of the log while recovery needs none of their rows. */
export async function deleteLogFiles(options: LogCleanupOptions): Promise<void> {
  const { wal, regions, appliedIds } = options;
  if (!isOldestDeletable(options)) return;
  // The file of ids must not contain batches whose rows could still be lost.
  await wal.syncNow();
  await appliedIds.save(regions.open);
  while (isOldestDeletable(options)) await wal.deleteOldest();
}

function isOldestDeletable({ wal, regions, clock, retryWindowMs, bytesMax }: LogCleanupOptions): boolean {
  if (wal.files.length <= 1) return false;
  const [oldest] = wal.files;
  const isYoung = oldest.lastWriteMs > clock.nowMs() - retryWindowMs;
  return (!isYoung || wal.bytes > bytesMax) && regionsPinning(oldest, regions).length === 0;
}

/** Returns the regions that have rows in the file which are in no segment yet. */
export function regionsPinning(file: WalFile, regions: Regions): Region[] {
  const pinned: Region[] = [];
  for (const [regionId, sequence] of file.lastSequences) {
    const region = regions.find(regionId);
    if (region !== undefined && region.manifest.watermark < sequence) pinned.push(region);
  }
  return pinned;
}
