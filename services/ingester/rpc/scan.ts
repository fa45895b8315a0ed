import type { Call } from '#shared/contracts/call';
import type { ScanBatch, ScanChunk, ScanPart, ScanRegion, ScanRequest } from '#shared/contracts/gen/ingester';
import { encodeRowBatch } from '#shared/rowbatch/arrow';
import { encodeDefinitions, NO_DEFINITIONS, type SeriesDefinition } from '#shared/rowbatch/definitions';

import type { Ingester } from '../ingester.js';
import type { HeldBatch } from '../memtable/generation.js';
import type { TagRun } from '../memtable/tag-blocks.js';
import type { Region } from '../region/region.js';
import { checkRegionIds } from './check-region-ids.js';
import { ChunkCutter, NO_PART } from './scan-chunks.js';

/** Bytes of definitions that are sent as one piece. */
const DEFINITIONS_BYTES = 1 << 20;

/**
 * Ingester.Scan: of each region, rows after the caller's watermark that it lacks, in the order of their sequences.
 *
 * All rows that were acknowledged before the call are in it: what is visible is read once, before the first chunk.
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

/** What a region had that the caller lacks, at the moment of the call. */
type RegionReading = { readonly regionId: number } & (
  | { readonly newerManifest: NonNullable<ScanPart['newerManifest']> }
  | {
      readonly newerManifest: undefined;
      readonly region: Region;
      readonly lacking: readonly MissingBatch[];
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
  // A node that has not heard yet that its grant was closed would answer with too little. From here on nothing comes
  // between: one region may have been given away while another one was opened.
  for (const region of served) ingester.regions.checkServing(region);
  return served.map((region, i) => read(region, regions[i], ingester.incarnation));
}

function read(region: Region, asked: ScanRegion, incarnation: bigint): RegionReading {
  const { regionId, manifest, registry, generations } = region;
  if (asked.watermark < manifest.watermark || asked.manifestVersion < manifest.version) {
    return { regionId, newerManifest: manifest };
  }
  // Series of published numbers are read from series files.
  const has = asked.haveIncarnation === incarnation ? asked.haveSeries : 0;
  const seriesFrom = Math.max(registry.publishedCount, has);
  const seriesTo = generations.reduce((most, { seriesCount }) => Math.max(most, seriesCount), seriesFrom);
  return {
    regionId,
    newerManifest: undefined,
    region,
    lacking: missingBatches(region, asked, incarnation),
    seriesFrom,
    tags: registry.tagsBetween(seriesFrom, seriesTo),
    sequenceTo: region.visibleTo,
  };
}

/** Batches behind the watermark and outside of what the caller has. */
function missingBatches(region: Region, asked: ScanRegion, incarnation: bigint): MissingBatch[] {
  const { watermark, haveFrom, haveTo } = asked;
  // What the caller has counts only if it begins at or before the watermark: no hole may be between.
  const counts = asked.haveIncarnation === incarnation && haveFrom <= watermark;
  const after = counts && haveTo > watermark ? haveTo : watermark;
  const lacking: MissingBatch[] = [];
  for (const generation of region.generations) {
    if (generation.sequenceTo <= after) continue;
    for (const held of generation.batches) {
      if (held.sequenceTo > after) lacking.push({ held, generation: generation.number });
    }
  }
  return lacking;
}

/** The reading in pieces, each made when it is asked for. */
function* partsOf(reading: RegionReading): Generator<ScanPart> {
  const { regionId, newerManifest } = reading;
  if (newerManifest !== undefined) {
    yield { ...NO_PART, regionId, newerManifest };
    return;
  }
  for (const lacking of reading.lacking) yield { ...NO_PART, regionId, batches: [scanBatch(lacking)] };
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

/** How many of the tags from there on are one piece: at least one. */
function countWithin(tags: TagRun, from: number): number {
  let bytes = 0;
  let at = from;
  while (at < tags.length && bytes < DEFINITIONS_BYTES) bytes += tags.at(at++).length;
  return at - from;
}

function scanBatch({ held, generation }: MissingBatch): ScanBatch {
  const { batch, sids, sequenceFrom, sequenceTo, late, times } = held;
  return {
    sequenceFrom,
    sequenceTo,
    batch: encodeRowBatch(batch),
    sids: Array.from(sids),
    hasLate: late !== undefined,
    lateFirst: late?.first ?? 0n,
    lateLast: late?.last ?? 0n,
    timeFirst: times.first,
    timeLast: times.last,
    generation,
  };
}
