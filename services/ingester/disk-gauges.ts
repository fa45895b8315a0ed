import { freeBytes } from '#shared/fs/free-bytes';
import type { Metrics } from '#shared/telemetry/metrics';

/** Has metrics tell, whenever they are read, what the disks of an ingester have left, until the signal aborts. */
export function exportDiskGauges(
  { storeFolder, walFolder }: { readonly storeFolder: string; readonly walFolder: string },
  metrics: Metrics,
  signal: AbortSignal,
): void {
  const ofStore = metrics.gauge({
    name: 'ingester_store_free_bytes',
    help: 'bytes that the disk of segments has left',
  });
  const ofWal = metrics.gauge({
    name: 'ingester_wal_free_bytes',
    help: 'bytes that the disk of the write-ahead log has left',
  });
  for (const [gauge, folder] of [
    [ofStore, storeFolder],
    [ofWal, walFolder],
  ] as const) {
    const end = metrics.beforePrint(async () => {
      const left = await freeBytes(folder).catch(() => undefined);
      // Of a disk that does not tell, neither what it had left before nor zero would be true.
      if (left === undefined) gauge.remove();
      else gauge.set(left);
    });
    signal.addEventListener('abort', end, { once: true });
  }
}
