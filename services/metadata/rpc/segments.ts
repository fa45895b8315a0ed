import type { RegionManifest, Segment, Table } from '#shared/contracts/gen/common';
import type {
  CommitSegmentsRequest,
  ExpireSegmentsRequest,
  ForgetGarbageRequest,
  ListGarbageRequest,
  ListGarbageResponse,
  ListRegionSizesRequest,
  ListRegionSizesResponse,
  ReplaceSegmentsRequest,
  TruncateTableRequest,
  TruncateTableResponse,
} from '#shared/contracts/gen/metadata';
import { AlmanacError } from '#shared/errors/almanac-error';
import { manifestChanged, type MetadataCatalog } from '../catalog.js';

/** A sequence is its epoch, shifted, plus the number of a row. */
const EPOCH_SHIFT = 40n;

/**
 * Adds files to the manifest and advances the region's watermark, in one transaction.
 *
 * Requires the open grant and the present watermark as its start, so that of two commits with the same rows (a delayed
 * one of a killed process, and its successor's) one is refused.
 */
export function commitSegments(catalog: MetadataCatalog, request: CommitSegmentsRequest): RegionManifest {
  return catalog.change((record) => {
    const region = catalog.region(request.regionId);
    const manifest = catalog.manifest(request.regionId);
    if (hasCome([...request.segments, ...request.seriesFiles], manifest, catalog)) return manifest;
    checkGrant(manifest, request.epoch);
    if (region.watermark !== request.watermarkFrom || request.watermarkTo < request.watermarkFrom) {
      const text = `region ${request.regionId} has the watermark ${region.watermark}, not ${request.watermarkFrom}`;
      throw new AlmanacError('illegal_state', text, { details: { watermark: String(region.watermark) } });
    }
    for (const segment of request.segments) catalog.segments.insert(request.regionId, segment);
    for (const file of request.seriesFiles) catalog.segments.insertSeriesFile(request.regionId, file);
    const { deletedFirst: first, deletedLast: last } = request;
    if (first !== undefined && last !== undefined) {
      catalog.flows.addChange(request.regionId, { first, last }, request.watermarkTo);
    }
    catalog.regions.advance(request.regionId, request.watermarkTo);
    const committed = catalog.manifest(request.regionId);
    record(manifestChanged(committed));
    return committed;
  });
}

/**
 * Replaces segments with others that have the same rows, in one transaction.
 *
 * @throws `illegal_state` if the grant is not open, a replaced segment is not live (a truncation or another merge
 *   came first), or the new segments would change the version order.
 */
export function replaceSegments(catalog: MetadataCatalog, request: ReplaceSegmentsRequest): RegionManifest {
  const { regionId, epoch, replaced, segments } = request;
  return catalog.change((record) => {
    const manifest = catalog.manifest(regionId);
    if (hasCome(segments, manifest, catalog) || hasEnded(request, catalog)) return manifest;
    const live = new Map(manifest.segments.map((segment) => [segment.path, segment]));
    checkGrant(manifest, epoch);
    const inputs = replaced.map((path) => {
      const segment = live.get(path);
      if (segment !== undefined) return segment;
      throw new AlmanacError('illegal_state', `segment "${path}" of region ${regionId} is not live`);
    });
    checkPlace(manifest, inputs, segments);
    for (const { timeFirst: first, timeLast: last, sequenceTo } of inputs) {
      catalog.flows.addChange(regionId, { first, last }, sequenceTo);
    }
    for (const path of replaced) catalog.segments.discard(path, catalog.clock.nowMs());
    for (const segment of segments) catalog.segments.insert(regionId, { ...segment, isMerged: true });
    catalog.regions.changed(regionId);
    const after = catalog.manifest(regionId);
    record(manifestChanged(after));
    return after;
  });
}

/**
 * Removes expired segments from the manifest.
 * @throws `illegal_state` if the grant is not open.
 */
export function expireSegments(catalog: MetadataCatalog, request: ExpireSegmentsRequest): RegionManifest {
  const { regionId, epoch, paths } = request;
  return catalog.change((record) => {
    const manifest = catalog.manifest(regionId);
    checkGrant(manifest, epoch);
    const live = new Set(manifest.segments.map(({ path }) => path));
    const expired = paths.filter((path) => live.has(path));
    if (expired.length === 0) return manifest;
    for (const path of expired) catalog.segments.discard(path, catalog.clock.nowMs());
    catalog.regions.changed(regionId);
    const after = catalog.manifest(regionId);
    record(manifestChanged(after));
    return after;
  });
}

/** Returns whether segments that were replaced by nothing, because all of their rows are deleted, are gone already. */
function hasEnded({ replaced, segments }: ReplaceSegmentsRequest, { segments: store }: MetadataCatalog): boolean {
  return segments.length === 0 && replaced.length > 0 && replaced.every((path) => store.isGarbage(path));
}

function checkGrant({ regionId, epoch: open }: RegionManifest, epoch: number): void {
  if (open === epoch) return;
  throw new AlmanacError('illegal_state', `grant ${epoch} of region ${regionId} is not open`);
}

/** Segment order determines which version is newer, so merged segments must have the position of all their inputs. */
function checkPlace(
  { regionId, segments }: RegionManifest,
  inputs: readonly Segment[],
  outputs: readonly Segment[],
): void {
  const whole = spanOf(inputs);
  if (inputs.length === 0 || !isSameSpan(whole, spanOf([...inputs, ...outputs]))) {
    throw new AlmanacError('illegal_state', `segments for region ${regionId} do not match those that they replace`);
  }
  const names = new Set(inputs.map(({ path }) => path));
  for (const other of segments) {
    if (names.has(other.path) || other.timeLast < whole.timeFirst || other.timeFirst > whole.timeLast) continue;
    if (other.sequenceTo <= whole.sequenceFrom || other.sequenceFrom >= whole.sequenceTo) continue;
    throw new AlmanacError('illegal_state', `segment "${other.path}" is between those that are replaced`);
  }
}

type Span = Pick<Segment, 'timeFirst' | 'timeLast' | 'sequenceFrom' | 'sequenceTo'>;

function spanOf(segments: readonly Segment[]): Span {
  const least = (values: bigint[]): bigint => values.reduce((a, b) => (a < b ? a : b), values[0] ?? 0n);
  const greatest = (values: bigint[]): bigint => values.reduce((a, b) => (a > b ? a : b), values[0] ?? 0n);
  return {
    timeFirst: least(segments.map((it) => it.timeFirst)),
    timeLast: greatest(segments.map((it) => it.timeLast)),
    sequenceFrom: least(segments.map((it) => it.sequenceFrom)),
    sequenceTo: greatest(segments.map((it) => it.sequenceTo)),
  };
}

function isSameSpan(a: Span, b: Span): boolean {
  const isSameTime = a.timeFirst === b.timeFirst && a.timeLast === b.timeLast;
  return isSameTime && a.sequenceFrom === b.sequenceFrom && a.sequenceTo === b.sequenceTo;
}

/**
 * Hides the rows of each region up to a sequence. If a table's regions have several owners, each owner calls for its
 * own.
 *
 * @throws `illegal_state` if a segment has rows on both sides of a point, or if a point is not of the open grant: its
 *   owner has lost the region meanwhile, and the new owner must call instead.
 */
export function raiseTruncation(catalog: MetadataCatalog, request: TruncateTableRequest): TruncateTableResponse {
  return catalog.change((record) => {
    const table: Table | undefined = catalog.tables.findById(request.tableId);
    if (table === undefined) throw new AlmanacError('table_not_found', `table ${request.tableId} not found`);
    const regions = request.points.map(({ regionId, sequence }) => {
      const before = catalog.manifest(regionId);
      checkPoint(before, table, sequence);
      const straddles = before.segments.some((it) => it.sequenceFrom < sequence && sequence < it.sequenceTo);
      if (straddles || before.watermark < sequence) {
        throw new AlmanacError('illegal_state', `region ${regionId} is not flushed up to ${sequence}`);
      }
      const times = catalog.segments.timesUpTo(regionId, sequence);
      // Whether or not a flow has processed these rows, its results for their times change.
      if (times !== undefined) catalog.flows.addChange(regionId, times);
      catalog.segments.discardUpTo(regionId, sequence, catalog.clock.nowMs());
      catalog.regions.truncate(regionId, sequence);
      const after = catalog.manifest(regionId);
      record(manifestChanged(after));
      return after;
    });
    return { catalogVersion: catalog.version, regions };
  });
}

function checkPoint(manifest: RegionManifest, table: Table, sequence: bigint): void {
  const { regionId, tableId, epoch } = manifest;
  if (tableId !== table.tableId) {
    throw new AlmanacError('region_not_found', `table "${table.name}" has no region ${regionId}`);
  }
  if (sequence >> EPOCH_SHIFT !== BigInt(epoch)) {
    throw new AlmanacError('illegal_state', `point ${sequence} of region ${regionId} is not of its grant ${epoch}`);
  }
}

/**
 * Returns the manifest of a region.
 * @throws `region_not_found`.
 */
export function getManifest(catalog: MetadataCatalog, regionId: number): RegionManifest {
  return catalog.manifest(regionId);
}

/**
 * Returns the sizes of the regions of a database that have files.
 * @throws `database_not_found`.
 */
export function listRegionSizes(
  catalog: MetadataCatalog,
  { database }: ListRegionSizesRequest,
): ListRegionSizesResponse {
  return { regions: catalog.segments.regionSizes(catalog.database(database).databaseId) };
}

/** Returns files that left the manifest before a time. */
export function listGarbage(catalog: MetadataCatalog, request: ListGarbageRequest): ListGarbageResponse {
  return { paths: catalog.segments.garbage(request.removedBeforeMs, request.limit) };
}

/** Removes the records of deleted files. */
export function deleteGarbageRecords(catalog: MetadataCatalog, request: ForgetGarbageRequest): void {
  catalog.change(() => {
    for (const path of request.paths) catalog.segments.forgetGarbage(path);
  });
}

/**
 * Returns whether these files were committed before and the reply was lost. Some may have been replaced or expired
 * since. A caller that is refused removes its files, so none of the committed ones may be missed.
 */
function hasCome(
  files: readonly { readonly path: string }[],
  { segments, seriesFiles }: RegionManifest,
  { segments: store }: MetadataCatalog,
): boolean {
  const live = new Set([...segments, ...seriesFiles].map(({ path }) => path));
  return files.some(({ path }) => live.has(path) || store.isGarbage(path));
}
