import type { Clock } from '#shared/clock/clock';
import { ownCall } from '#shared/contracts/call';
import type { MetadataService } from '#shared/contracts/gen/metadata';
import type { LocalStore } from '#shared/segments/local-store';
import { regionFolder } from '#shared/segments/segment-name';
import type { Logger } from '#shared/telemetry/log';

import type { Compactor } from './compactor.js';
import type { Region } from './region.js';
import type { Regions } from './regions.js';

const FILES_PER_TURN = 1000;
/** Limit of the garbage list that orphans are compared with: all of it. */
const GARBAGE_MAX = 1_000_000;
/** File names of this many regions are held in memory at a time. */
const REGIONS_SEARCHED_AT_ONCE = 256;

/** What deleting files needs. */
export interface GarbageOptions {
  readonly metadata: MetadataService;
  readonly store: LocalStore;
  readonly clock: Clock;
  /** Longer than the longest query, which may still read the files. */
  readonly graceMs: number;
}

/** What a whole collection needs. */
export interface CollectOptions extends GarbageOptions {
  readonly compactor: Pick<Compactor, 'without'>;
}

/** Collects files once, unless a backup or another ingester holds them; the next collection comes soon enough. */
export async function collectFiles(
  options: CollectOptions,
  regions: Pick<Regions, 'open'>,
  log: Logger,
): Promise<void> {
  const release = options.store.tryHold();
  if (release === undefined) {
    log.info({}, 'deletion of unused files postponed: a backup or another ingester has locked the store');
    return;
  }
  try {
    await collectAll(options, regions, log);
  } finally {
    release();
  }
}

/** Collects garbage always, and orphans of regions that this process has not searched yet. */
async function collectAll(options: CollectOptions, regions: Pick<Regions, 'open'>, log: Logger): Promise<void> {
  await collectGarbage(options);
  const unsearched = [...regions.open].filter(
    ({ isSearchedForOrphans: isSearched, isEnded }) => !isSearched && !isEnded,
  );
  while (unsearched.length > 0) {
    const some = unsearched.splice(0, REGIONS_SEARCHED_AT_ONCE);
    // A merge may take longer than the grace time, and its files are in no manifest before all of them are written.
    const deleted = await options.compactor.without(some, () => collectOrphans(some, options));
    for (const region of some) region.isSearchedForOrphans = true;
    if (deleted > 0) log.info({ files: deleted }, 'orphaned files deleted');
  }
}

/** Deletes files that left the manifest longer ago than the grace time. */
async function collectGarbage({ metadata, store, clock, graceMs }: GarbageOptions): Promise<void> {
  const call = ownCall('collect-garbage');
  const { paths } = await metadata.listGarbage(
    { removedBeforeMs: clock.nowMs() - graceMs, limit: FILES_PER_TURN },
    call,
  );
  if (paths.length === 0) return;
  for (const path of paths) await store.remove(path);
  await metadata.forgetGarbage({ paths }, call);
}

/**
 * Deletes files of the regions that were never in a manifest: those of a flush that did not reach its commit.
 *
 * The order of the three reads matters: a file that leaves a manifest meanwhile is found in the garbage, which is
 * listed once because it belongs to the whole cluster.
 *
 * @returns the number of deleted files.
 */
export async function collectOrphans(regions: readonly Region[], options: GarbageOptions): Promise<number> {
  const { metadata, store, clock, graceMs } = options;
  const call = ownCall('collect-orphans');
  const files: string[][] = [];
  for (const { table, regionId } of regions) {
    files.push(await store.list(regionFolder(table.databaseId, table.tableId, regionId)));
  }
  const named = new Set<string>();
  for (const { regionId } of regions) {
    const manifest = await metadata.getManifest({ regionId }, call);
    for (const { path } of [...manifest.segments, ...manifest.seriesFiles]) named.add(path);
  }
  const garbage = await metadata.listGarbage({ removedBeforeMs: clock.nowMs(), limit: GARBAGE_MAX }, call);
  for (const path of garbage.paths) named.add(path);
  let deleted = 0;
  for (const path of files.flat()) {
    if (named.has(path)) continue;
    const writtenMs = await store.modifiedMs(path);
    if (writtenMs === undefined || writtenMs > clock.nowMs() - graceMs) continue;
    await store.remove(path);
    deleted++;
  }
  return deleted;
}
