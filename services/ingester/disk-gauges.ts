import { freeBytes } from '#shared/fs/free-bytes';
import type { Metrics } from '#shared/telemetry/metrics';

/** Has metrics tell, whenever they are read, what the disks of an ingester have left, until the signal aborts. */
export function showDisks(
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
  const end = metrics.beforePrint(async () => {
    ofStore.set(await freeBytes(storeFolder));
    ofWal.set(await freeBytes(walFolder));
  });
  signal.addEventListener('abort', end, { once: true });
}
