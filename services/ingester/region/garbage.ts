import type { Clock } from '#shared/clock/clock';
import { ownCall } from '#shared/contracts/call';
import type { MetadataService } from '#shared/contracts/gen/metadata';
import type { LocalStore } from '#shared/segments/local-store';

const FILES_PER_TURN = 1000;

export interface GarbageOptions {
  readonly metadata: MetadataService;
  readonly store: LocalStore;
  readonly clock: Clock;
  /** Longer than the longest query, which may still read the files. */
  readonly graceMs: number;
}

/** Deletes files that left the manifest longer ago than the grace time. */
export async function collectGarbage({ metadata, store, clock, graceMs }: GarbageOptions): Promise<void> {
  const call = ownCall('collect-garbage');
  const { paths } = await metadata.listGarbage(
    { removedBeforeMs: clock.nowMs() - graceMs, limit: FILES_PER_TURN },
    call,
  );
  if (paths.length === 0) return;
  for (const path of paths) await store.remove(path);
  await metadata.forgetGarbage({ paths }, call);
}
