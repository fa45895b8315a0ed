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
/** All garbage that metadata may list at once, when orphans are told from it. */
const GARBAGE_MAX = 1_000_000;
/** Of all of them the names of files are held at once. */
const REGIONS_SEARCHED_AT_ONCE = 256;

export interface GarbageOptions {
  readonly metadata: MetadataService;
  readonly store: LocalStore;
  readonly clock: Clock;
  /** Longer than the longest query, which may still read the files. */
  readonly graceMs: number;
}

export interface CollectOptions extends GarbageOptions {
  readonly compactor: Pick<Compactor, 'without'>;
}

/** One turn of file collection, unless somebody needs the files as they are: the next turn comes soon enough. */
export async function collectFiles(
  options: CollectOptions,
  regions: Pick<Regions, 'open'>,
  log: Logger,
): Promise<void> {
  const release = options.store.tryHold();
  if (release === undefined) {
    log.info({}, 'files are not collected in this turn: a backup or another ingester holds them');
    return;
  }
  try {
    await collectAll(options, regions, log);
  } finally {
    release();
  }
}

/** Garbage always, and the orphans of regions that were not looked at in this life. */
async function collectAll(options: CollectOptions, regions: Pick<Regions, 'open'>, log: Logger): Promise<void> {
  await collectGarbage(options);
  const unsearched = [...regions.open].filter(
    ({ isSearchedForOrphans: isSearched, isEnded }) => !isSearched && !isEnded,
  );
  while (unsearched.length > 0) {
    const some = unsearched.splice(0, REGIONS_SEARCHED_AT_ONCE);
    // A merge may take longer than the grace time, and none of its files is named before all are there.
    const deleted = await options.compactor.without(some, () => collectOrphans(some, options));
    for (const region of some) region.isSearchedForOrphans = true;
    if (deleted > 0) log.info({ files: deleted }, 'files without an owner were deleted');
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
 * Deletes files of regions that no manifest ever named: what a flush wrote that did not come to its commit.
 *
 * The order of the three readings matters: a file that leaves a manifest meanwhile is found in the garbage. That is listed
 * once for all of the regions, since it is the whole cluster's.
 *
 * @returns how many were deleted.
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
