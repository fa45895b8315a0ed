import { freeBytes } from '#shared/fs/free-bytes';
import type { Metrics } from '#shared/telemetry/metrics';

/** Exports the free bytes of an ingester's disks whenever metrics are read, until the signal aborts. */
export function exportDiskGauges(
  { storeFolder, walFolder }: { readonly storeFolder: string; readonly walFolder: string },
  metrics: Metrics,
  signal: AbortSignal,
): void {
  const ofStore = metrics.gauge({
    name: 'ingester_store_free_bytes',
    help: 'free space on the disk of the segments in bytes',
  });
  const ofWal = metrics.gauge({
    name: 'ingester_wal_free_bytes',
    help: 'free space on the disk of the write-ahead log in bytes',
  });
  for (const [gauge, folder] of [
    [ofStore, storeFolder],
    [ofWal, walFolder],
  ] as const) {
    const end = metrics.beforePrint(async () => {
      const left = await freeBytes(folder).catch(() => undefined);
      // For a disk that does not answer, both the last value and zero would be wrong.
      if (left === undefined) gauge.remove();
      else gauge.set(left);
    });
    signal.addEventListener('abort', end, { once: true });
  }
}
