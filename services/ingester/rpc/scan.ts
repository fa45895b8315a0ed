import type { Call } from '#shared/contracts/call';
import type { ScanBatch, ScanChunk, ScanPart, ScanRegion, ScanRequest } from '#shared/contracts/gen/ingester';
import { encodeRowBatch } from '#shared/rowbatch/arrow';
import { encodeDefinitions, NO_DEFINITIONS, type SeriesDefinition } from '#shared/rowbatch/definitions';

import type { Ingester } from '../ingester.js';
import type { HeldBatch } from '../memtable/held-batch.js';
import type { TagRun } from '../memtable/tag-blocks.js';
import type { Region } from '../region/region.js';
import { checkRegionIds } from '../region/regions.js';
import { ChunkCutter, NO_PART } from './scan-chunks.js';

/** Bytes of definitions that are sent in one part. */
const DEFINITIONS_BYTES = 1 << 20;

/**
 * Ingester.Scan: returns, for each region, the rows after the caller's watermark that it does not have, in sequence
 * order.
 *
 * Contains all rows that were acknowledged before the call: what is visible is read once, before the first chunk.
 */
export async function* scan(ingester: Ingester, request: ScanRequest, call: Call): AsyncIterable<ScanChunk> {
  const readings = await readAll(ingester, request, call);
  const { incarnation } = ingester;
  const cutter = new ChunkCutter();
  for (const reading of readings) {
    for (const part of partsOf(reading)) {
      const full = cutter.add(part);
      if (full !== undefined) yield { incarnation, parts: full };
    }
  }
  yield { incarnation, parts: cutter.remaining };
}

/** Reports whether a scan would return nothing, as far as that is known without waiting. */
export function hasNothingNew(
  { regions, incarnation }: Ingester,
  { tableId, regions: requests }: ScanRequest,
): boolean {
  return requests.every((request) => {
    const { regionId, epoch } = request;
    const region = regions.ready({ tableId, regionId, epoch, schemaVersion: 0 });
    if (region === undefined || request.haveIncarnation !== incarnation) return false;
    const reading = read(region, request, incarnation);
    return reading.newerManifest === undefined && reading.missing.length === 0 && reading.tags.length === 0;
  });
}

/** What a region had that the caller did not, at the moment of the call. */
type RegionReading = { readonly regionId: number } & (
  | { readonly newerManifest: NonNullable<ScanPart['newerManifest']> }
  | {
      readonly newerManifest: undefined;
      readonly region: Region;
      readonly missing: readonly MissingBatch[];
      readonly seriesFrom: number;
      readonly tags: TagRun;
      readonly sequenceTo: bigint;
    }
);

interface MissingBatch {
  readonly held: HeldBatch;
  readonly generation: number;
}

async function readAll(ingester: Ingester, { tableId, regions }: ScanRequest, call: Call): Promise<RegionReading[]> {
  checkRegionIds(regions.map(({ regionId }) => regionId));
  const served = await Promise.all(
    regions.map(({ regionId, epoch }) =>
      ingester.regions.serving({ tableId, regionId, epoch, schemaVersion: 0 }, call),
    ),
  );
  // A node that has not heard that its grant was closed would return too little. Checked for all regions at once,
  // without yielding afterwards: one may have been handed over while another was opened.
  for (const region of served) ingester.regions.checkServing(region);
  return served.map((region, i) => read(region, regions[i], ingester.incarnation));
}

function read(region: Region, request: ScanRegion, incarnation: bigint): RegionReading {
  const { regionId, manifest, registry, generations } = region;
  if (request.watermark < manifest.watermark || request.manifestVersion < manifest.version) {
    return { regionId, newerManifest: manifest };
  }
  // Published series are read from series files.
  const has = request.haveIncarnation === incarnation ? request.haveSeries : 0;
  const seriesFrom = Math.max(registry.publishedCount, has);
  const seriesTo = generations.reduce((most, { seriesCount }) => Math.max(most, seriesCount), seriesFrom);
  return {
    regionId,
    newerManifest: undefined,
    region,
    missing: missingBatches(region, request, incarnation),
    seriesFrom,
    tags: registry.tagsBetween(seriesFrom, seriesTo),
    sequenceTo: region.visibleTo,
  };
}

/** Returns batches after the watermark that the caller does not have. */
function missingBatches(region: Region, request: ScanRegion, incarnation: bigint): MissingBatch[] {
  const { watermark, haveFrom, haveTo } = request;
  // The caller's rows count only if they start at or before the watermark: otherwise there may be a gap.
  const counts = request.haveIncarnation === incarnation && haveFrom <= watermark;
  const after = counts && haveTo > watermark ? haveTo : watermark;
  const missing: MissingBatch[] = [];
  for (const generation of region.generations) {
    if (generation.sequenceTo <= after) continue;
    for (const held of generation.batches) {
      if (held.sequenceTo > after) missing.push({ held, generation: generation.number });
    }
  }
  return missing;
}

/** Splits the reading into parts, each encoded when it is needed. */
function* partsOf(reading: RegionReading): Generator<ScanPart> {
  const { regionId, newerManifest } = reading;
  if (newerManifest !== undefined) {
    yield { ...NO_PART, regionId, newerManifest };
    return;
  }
  for (const missing of reading.missing) yield { ...NO_PART, regionId, batches: [scanBatch(missing, reading.region)] };
  const { region, tags, seriesFrom, sequenceTo } = reading;
  for (let from = 0; from < tags.length;) {
    const definitions: SeriesDefinition[] = [];
    const to = from + countWithin(tags, from);
    for (let i = from; i < to; i++) {
      definitions.push({ tsid: region.registry.tsidOf(seriesFrom + i), tags: tags.at(i) });
    }
    const range = { seriesFrom: seriesFrom + from, seriesTo: seriesFrom + to };
    yield { ...NO_PART, regionId, ...range, definitions: encodeDefinitions(definitions) };
    from = to;
  }
  yield { ...NO_PART, regionId, definitions: NO_DEFINITIONS, complete: true, sequenceTo };
}

/** Returns how many of the tags from there on go into one part: at least one. */
function countWithin(tags: TagRun, from: number): number {
  let bytes = 0;
  let at = from;
  while (at < tags.length && bytes < DEFINITIONS_BYTES) bytes += tags.at(at++).length;
  return at - from;
}

function scanBatch({ held, generation }: MissingBatch, { registry }: Region): ScanBatch {
  const { sequenceFrom, sequenceTo, late, times } = held;
  return {
    sequenceFrom,
    sequenceTo,
    batch: encodeRowBatch(held.rows(registry)),
    sids: Array.from(held.sids()),
    hasLate: late !== undefined,
    lateFirst: late?.first ?? 0n,
    lateLast: late?.last ?? 0n,
    timeFirst: times.first,
    timeLast: times.last,
    generation,
  };
}
