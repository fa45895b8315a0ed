import { systemClock } from '#shared/clock/clock';
import type { FileSystem } from '#shared/fs/file-system';

import type { LogRecord } from '../wal/record.js';
import { readLiveWal } from '../wal/read-live.js';
import { AppliedIds } from './applied-ids.js';

/** How far a region's rows go in a log. */
export interface LoggedPosition {
  readonly epoch: number;
  /** Greatest sequence under that epoch. */
  readonly sequence: bigint;
}

/** A region as a copy of the catalog has it. */
export interface CopiedRegion {
  readonly regionId: number;
  readonly epoch: number;
  readonly watermark: bigint;
}

/**
 * How far each region's rows go, by the logs of its owners: every row that was acknowledged before the call is at or
 * below that, or in segments.
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
 * Ids of the batches in the logs whose rows a copy of the catalog has in segments, as a seal would hand them over: whoever
 * goes on from the copy neither applies such a batch again nor passes over one whose rows it does not have.
 *
 * @param known ids that came with the last seal, by region; they are in the answer too.
 * @returns by region, in the format of docs/formats/applied-ids.md.
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
      // None is forgotten by age in here: the reader's clock counts from when it learns of them.
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
