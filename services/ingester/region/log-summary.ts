import { systemClock } from '#shared/clock/clock';
import type { FileSystem } from '#shared/fs/file-system';

import type { LogRecord } from '../wal/record.js';
import { readLiveWal } from '../wal/read-live.js';
import { AppliedIds } from './applied-ids.js';

/** Last row of a region in a log. */
export interface LoggedPosition {
  readonly epoch: number;
  /** Greatest sequence under that epoch. */
  readonly sequence: bigint;
}

/** A region in a copy of the catalog. */
export interface CopiedRegion {
  readonly regionId: number;
  readonly epoch: number;
  readonly watermark: bigint;
}

/**
 * Returns the last row of each region in the logs of its owners: every row that was acknowledged before the call is at
 * or below it, or in segments.
 *
 * @throws `storage_unavailable` if a log is damaged.
 */
export async function loggedPositions(
  folders: readonly string[],
  fs: FileSystem,
): Promise<Map<number, LoggedPosition>> {
  const positions = new Map<number, LoggedPosition>();
  const onRecord = (record: LogRecord): void => {
    const { regionId, epoch } = record;
    const known = positions.get(regionId);
    const sequence = sequenceTo(record);
    if (known !== undefined && (known.epoch > epoch || (known.epoch === epoch && known.sequence >= sequence))) return;
    positions.set(regionId, { epoch, sequence });
  };
  for (const folder of folders) await readLiveWal({ folder, fs, onRecord });
  return positions;
}

/**
 * Returns the ids of logged batches whose rows a copy of the catalog has in segments, as a seal would pass them on. An
 * owner that continues from the copy then neither applies such a batch again nor ignores one whose rows it lacks.
 *
 * @param known ids from the last seal, by region; they are included in the result.
 * @returns ids by region, in the format of docs/formats/applied-ids.md.
 */
export async function loggedIds(
  folders: readonly string[],
  regions: readonly CopiedRegion[],
  known: ReadonlyMap<number, Uint8Array>,
  fs: FileSystem,
): Promise<Map<number, Uint8Array>> {
  const copied = new Map(regions.map((region) => [region.regionId, region]));
  const applied = new Map<number, AppliedIds>();
  const onRecord = (record: LogRecord): void => {
    const region = copied.get(record.regionId);
    // Ids of earlier epochs came with their seals.
    if (region?.epoch !== record.epoch || sequenceTo(record) > region.watermark) return;
    let ids = applied.get(region.regionId);
    if (ids === undefined) {
      // No id is too old here: its age counts from when the reader learns of it.
      ids = new AppliedIds({ clock: systemClock, windowMs: 0, onEarlyDiscard: () => undefined });
      ids.merge(known.get(region.regionId) ?? new Uint8Array(0));
      applied.set(region.regionId, ids);
    }
    ids.add(record.batchId);
  };
  for (const folder of folders) await readLiveWal({ folder, fs, onRecord });
  return new Map([...applied].map(([regionId, ids]) => [regionId, ids.encode()]));
}

function sequenceTo({ sequenceFrom, rowCount }: LogRecord): bigint {
  return sequenceFrom + BigInt(rowCount);
}
