import type { Clock } from '#shared/clock/clock';
import { diskSpace, type DiskSpace } from '#shared/fs/disk-space';
import type { Gauge, Metrics } from '#shared/telemetry/metrics';

/** Longest wait for a disk when the status of the process is requested. */
const STATUS_MS_MAX = 500;

/** Size and free space of the disk of a folder. */
export class Disk {
  readonly #folder: string;
  /** A disk that hangs blocks one thread per call, so there is one call at a time. */
  #running: Promise<DiskSpace | undefined> | undefined;

  constructor(folder: string) {
    this.#folder = folder;
  }

  /** Returns undefined if the disk fails; never resolves while it hangs. */
  space(): Promise<DiskSpace | undefined> {
    this.#running ??= diskSpace(this.#folder)
      .catch(() => undefined)
      .finally(() => (this.#running = undefined));
    return this.#running;
  }

  /** Returns undefined if the disk fails or does not respond soon. */
  async spaceSoon(clock: Clock): Promise<DiskSpace | undefined> {
    const enough = new AbortController();
    const late = clock.sleep(STATUS_MS_MAX, enough.signal).then(() => undefined);
    const space = await Promise.race([this.space(), late]);
    enough.abort();
    return space;
  }
}

/** The disks of an ingester, which may be the same one. */
export interface Disks {
  readonly store: Disk;
  readonly wal: Disk;
}

/** Exports the sizes of an ingester's disks whenever metrics are read, until the signal aborts. */
export function exportDiskGauges({ store, wal }: Disks, metrics: Metrics, signal: AbortSignal): void {
  const exported: readonly (readonly [Disk, { readonly free: Gauge; readonly total: Gauge }])[] = [
    [
      store,
      {
        free: metrics.gauge({
          name: 'ingester_store_free_bytes',
          help: 'free space on the disk of the segments in bytes',
        }),
        total: metrics.gauge({ name: 'ingester_store_total_bytes', help: 'size of the disk of the segments in bytes' }),
      },
    ],
    [
      wal,
      {
        free: metrics.gauge({
          name: 'ingester_wal_free_bytes',
          help: 'free space on the disk of the write-ahead log in bytes',
        }),
        total: metrics.gauge({
          name: 'ingester_wal_total_bytes',
          help: 'size of the disk of the write-ahead log in bytes',
        }),
      },
    ],
  ];
  for (const [disk, { free, total }] of exported) {
    const end = metrics.beforePrint(async () => {
      const space = await disk.space();
      // For a disk that does not answer, both the last value and zero would be wrong.
      if (space === undefined) {
        free.remove();
        total.remove();
        return;
      }
      free.set(space.freeBytes);
      total.set(space.totalBytes);
    });
    signal.addEventListener('abort', end, { once: true });
  }
}
