import type { RegionManifest, Table } from '#shared/contracts/gen/common';
import type {
  CommitSegmentsRequest,
  ForgetGarbageRequest,
  ListGarbageRequest,
  ListGarbageResponse,
  TruncateTableRequest,
  TruncateTableResponse,
} from '#shared/contracts/gen/metadata';
import { AlmanacError } from '#shared/errors/almanac-error';
import { manifestChanged, type Catalog } from '../catalog.js';
import type { RegionRecord } from '../store/regions.js';

/**
 * Makes files part of the manifest and moves the region's watermark, in one transaction.
 *
 * It passes only under the open grant and only if it starts at the present watermark, so of two commits that cover the
 * same rows (a late one of a killed process, and its successor's) one is refused.
 */
export function commitSegments(catalog: Catalog, request: CommitSegmentsRequest): RegionManifest {
  return catalog.change((note) => {
    const region = findRegion(catalog, request.regionId);
    const manifest = catalog.manifest(request.regionId);
    if (isRepeated(request, manifest)) return manifest;
    if (region.epoch !== request.epoch) {
      throw new AlmanacError('illegal_state', `grant ${request.epoch} of region ${request.regionId} is not open`);
    }
    if (region.watermark !== request.watermarkFrom || request.watermarkTo < request.watermarkFrom) {
      const text = `region ${request.regionId} stands at ${region.watermark}, not at ${request.watermarkFrom}`;
      throw new AlmanacError('illegal_state', text, { details: { watermark: String(region.watermark) } });
    }
    for (const segment of request.segments) catalog.segments.insert(request.regionId, segment);
    for (const file of request.seriesFiles) catalog.segments.insertSeriesFile(request.regionId, file);
    catalog.regions.advance(request.regionId, request.watermarkTo);
    const committed = catalog.manifest(request.regionId);
    note(manifestChanged(committed));
    return committed;
  });
}

/** Hides rows up to one sequence a region. @throws `illegal_state` if a segment has rows on both sides of it. */
export function truncateTable(catalog: Catalog, request: TruncateTableRequest): TruncateTableResponse {
  return catalog.change((note) => {
    const table: Table | undefined = catalog.tables.findById(request.tableId);
    if (table === undefined) throw new AlmanacError('table_not_found', `table ${request.tableId} not found`);
    const regions = request.points.map(({ regionId, sequence }) => {
      const before = catalog.manifest(regionId);
      const straddles = before.segments.some((it) => it.sequenceFrom < sequence && sequence < it.sequenceTo);
      if (straddles || before.watermark < sequence) {
        throw new AlmanacError('illegal_state', `region ${regionId} is not flushed up to ${sequence}`);
      }
      catalog.segments.discardUpTo(regionId, sequence, catalog.clock.nowMs());
      catalog.regions.truncate(regionId, sequence);
      const after = catalog.manifest(regionId);
      note(manifestChanged(after));
      return after;
    });
    return { catalogVersion: catalog.version, regions };
  });
}

export function getManifest(catalog: Catalog, regionId: number): RegionManifest {
  return catalog.manifest(regionId);
}

export function listGarbage(catalog: Catalog, request: ListGarbageRequest): ListGarbageResponse {
  return { paths: catalog.segments.garbage(request.removedBeforeMs, request.limit) };
}

export function forgetGarbage(catalog: Catalog, request: ForgetGarbageRequest): void {
  catalog.change(() => {
    for (const path of request.paths) catalog.segments.forgetGarbage(path);
  });
}

/** The same files again: the answer to the first commit was lost on the way. */
function isRepeated(request: CommitSegmentsRequest, manifest: RegionManifest): boolean {
  const names = [...request.segments, ...request.seriesFiles].map((file) => file.path);
  if (names.length === 0) return false;
  const present = new Set([...manifest.segments, ...manifest.seriesFiles].map((file) => file.path));
  return names.every((name) => present.has(name));
}

function findRegion(catalog: Catalog, regionId: number): RegionRecord {
  const region = catalog.regions.find(regionId);
  if (region === undefined) throw new AlmanacError('region_not_found', `region ${regionId} not found`);
  return region;
}
