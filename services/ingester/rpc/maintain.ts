import type { Call } from '#shared/contracts/call';
import type {
  CompactTableRequest,
  CompactTableResponse,
  DropTablesRequest,
  DropTablesResponse,
  FlushTableRequest,
  FlushTableResponse,
  TruncateRequest,
  TruncateResponse,
} from '#shared/contracts/gen/ingester';

import type { Ingester } from '../ingester.js';
import { closeDroppedTable } from '../region/close-regions.js';
import type { Region } from '../region/region.js';
import { dropChecked } from './check-dropped.js';
import { checkRegionIds } from '../region/regions.js';

/** Ingester.FlushTable: flushes every row that was acknowledged before the call to segments. */
export async function flushTable(
  ingester: Ingester,
  request: FlushTableRequest,
  call: Call,
): Promise<FlushTableResponse> {
  const regions = await regionsOf(ingester, request, call);
  const before = segmentCount(regions);
  await Promise.all(regions.map((region) => ingester.flusher.flush(region)));
  return { segments: Math.max(0, segmentCount(regions) - before) };
}

/** Ingester.CompactTable: merges the segments of each time window as far as possible. */
export async function compactTable(
  ingester: Ingester,
  request: CompactTableRequest,
  call: Call,
): Promise<CompactTableResponse> {
  let segments = 0;
  for (const region of await regionsOf(ingester, request, call)) {
    segments += await ingester.compactor.compact(region, call);
  }
  return { segments };
}

/**
 * Ingester.TruncateTable: removes every row that was acknowledged before the call.
 *
 * Rows are removed up to a watermark, so that no segment has rows on both sides of it.
 */
export async function truncateRegions(
  ingester: Ingester,
  request: TruncateRequest,
  call: Call,
): Promise<TruncateResponse> {
  const regions = await regionsOf(ingester, request, call);
  return ingester.compactor.without(regions, async () => {
    await Promise.all(regions.map((region) => ingester.flusher.flush(region)));
    const points = regions.map(({ regionId, manifest }) => ({ regionId, sequence: manifest.watermark }));
    const answer = await ingester.metadata.truncateTable({ tableId: request.tableId, points }, call);
    for (const manifest of answer.regions) ingester.regions.find(manifest.regionId)?.replaceManifest(manifest);
    return {};
  });
}

/**
 * Ingester.DropTables: closes the regions of dropped tables. No batch of them is acknowledged after it returns.
 *
 * @throws `region_not_ready` if one of the tables still exists.
 */
export async function dropTables(
  ingester: Ingester,
  { tableIds }: DropTablesRequest,
  call: Call,
): Promise<DropTablesResponse> {
  const present = tableIds.filter((tableId) => ingester.regions.mayHave(tableId));
  await dropChecked(present, ingester.metadata, call, (tableId) => closeDroppedTable(tableId, ingester));
  return {};
}

/** @throws `region_not_ready` if this node does not own one of them: the caller mistook it for another. */
async function regionsOf(ingester: Ingester, { tableId, regionIds }: FlushTableRequest, call: Call): Promise<Region[]> {
  checkRegionIds(regionIds);
  return Promise.all(
    regionIds.map((regionId) => ingester.regions.serving({ tableId, regionId, epoch: 0, schemaVersion: 0 }, call)),
  );
}

function segmentCount(regions: readonly Region[]): number {
  return regions.reduce((sum, region) => sum + region.manifest.segments.length, 0);
}
