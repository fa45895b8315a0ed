import type { StorageStatus } from '#shared/contracts/gen/admin';

const DISK = ['diskTotalBytes', 'diskFreeBytes'] as const;
const LOG_DISK = ['logDiskTotalBytes', 'logDiskFreeBytes'] as const;
const SUMMED = ['logBytes', 'runningMerges', 'segments', 'segmentBytes', 'garbageFiles', 'garbageBytes'] as const;

/** Names of the members in JSON, in their order. */
const JSON_NAMES = {
  diskTotalBytes: 'disk_total_bytes',
  diskFreeBytes: 'disk_free_bytes',
  logDiskTotalBytes: 'log_disk_total_bytes',
  logDiskFreeBytes: 'log_disk_free_bytes',
  logBytes: 'log_bytes',
  runningMerges: 'running_merges',
  segments: 'segments',
  segmentBytes: 'segment_bytes',
  garbageFiles: 'garbage_files',
  garbageBytes: 'garbage_bytes',
} as const satisfies Readonly<Record<keyof StorageStatus, string>>;

/** Returns what the processes of a cluster store together. Of their disks, which may be the same one, the fullest counts. */
export function totalStorage(parts: readonly StorageStatus[]): StorageStatus {
  const total: Partial<Record<keyof StorageStatus, number | undefined>> = {};
  for (const part of parts) {
    for (const name of SUMMED) {
      const value = part[name];
      if (value !== undefined) total[name] = (total[name] ?? 0) + value;
    }
    for (const [size, free] of [DISK, LOG_DISK]) {
      const value = part[free];
      if (value === undefined || value >= (total[free] ?? Infinity)) continue;
      total[size] = part[size];
      total[free] = value;
    }
  }
  return total;
}

/** Returns the members that are known, as `/status` names them. */
export function storageJson(storage: StorageStatus): Record<string, number> {
  const names = Object.entries(JSON_NAMES) as [keyof StorageStatus, string][];
  return Object.fromEntries(
    names.flatMap(([name, shown]) => {
      const value = storage[name];
      return value === undefined ? [] : [[shown, value]];
    }),
  );
}
