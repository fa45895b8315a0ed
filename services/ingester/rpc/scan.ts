import type { Call } from '#shared/contracts/call';
import type { ScanBatch, ScanChunk, ScanRequest } from '#shared/contracts/gen/ingester';
import { encodeRowBatch } from '#shared/rowbatch/arrow';
import { encodeDefinitions, NO_DEFINITIONS, type SeriesDefinition } from '#shared/rowbatch/definitions';

import type { Ingester } from '../ingester.js';
import type { HeldBatch } from '../memtable/generation.js';
import type { Region } from '../region/region.js';

/** Cells of one chunk of the answer, about (30 ms of work for the caller); a batch is never cut. */
const CHUNK_CELLS = 500_000;

/**
 * Ingester.Scan: rows after the caller's watermark that it lacks, in the order of their sequences.
 *
 * All rows that were acknowledged before the call are in it: what is visible is read once, at the first chunk.
 */
export async function* scan(ingester: Ingester, request: ScanRequest, call: Call): AsyncIterable<ScanChunk> {
  const { tableId, regionId, epoch } = request;
  // A node that has not heard yet that its grant was closed would answer with too little.
  const region = await ingester.regions.serving({ tableId, regionId, epoch, schemaVersion: 0 }, call);
  if (request.watermark < region.manifest.watermark || request.manifestVersion < region.manifest.version) {
    yield { ...emptyChunk(ingester), newerManifest: region.manifest };
    return;
  }
  const sequenceTo = region.visibleTo;
  const lacking = lackingBatches(region, request, ingester.incarnation);
  const series = seriesChunk(region, request, ingester.incarnation);
  let batches: ScanBatch[] = [];
  let cells = 0;
  for (const { held, generation } of lacking) {
    batches.push(scanBatch(held, generation));
    cells += held.batch.rowCount * (held.batch.columns.length + 2);
    if (cells < CHUNK_CELLS) continue;
    yield { ...emptyChunk(ingester), batches };
    batches = [];
    cells = 0;
  }
  yield { ...emptyChunk(ingester), ...series, batches, complete: true, sequenceTo };
}

function emptyChunk(ingester: Ingester): ScanChunk {
  return {
    batches: [],
    seriesFrom: 0,
    seriesTo: 0,
    definitions: NO_DEFINITIONS,
    incarnation: ingester.incarnation,
    complete: false,
    sequenceTo: 0n,
  };
}

interface Lacking {
  readonly held: HeldBatch;
  readonly generation: number;
}

/** Batches behind the watermark and outside of what the caller has. */
function lackingBatches(region: Region, request: ScanRequest, incarnation: bigint): Lacking[] {
  const { watermark, haveFrom, haveTo } = request;
  // What the caller has counts only if it begins at or before the watermark: no hole may be between.
  const counts = request.haveIncarnation === incarnation && haveFrom <= watermark;
  const after = counts && haveTo > watermark ? haveTo : watermark;
  const lacking: Lacking[] = [];
  for (const generation of region.generations) {
    if (generation.sequenceTo <= after) continue;
    for (const held of generation.batches) {
      if (held.sequenceTo > after) lacking.push({ held, generation: generation.number });
    }
  }
  return lacking;
}

/** Definitions of unpublished series that the caller lacks; the others it reads from series files. */
function seriesChunk(
  { registry, generations }: Region,
  request: ScanRequest,
  incarnation: bigint,
): Pick<ScanChunk, 'seriesFrom' | 'seriesTo' | 'definitions'> {
  const has = request.haveIncarnation === incarnation ? request.haveSeries : 0;
  const seriesFrom = Math.max(registry.publishedCount, has);
  const seriesTo = generations.at(-1)?.seriesCount ?? seriesFrom;
  const last = generations.reduce((most, generation) => Math.max(most, generation.seriesCount), seriesTo);
  const definitions: SeriesDefinition[] = [];
  for (let sid = seriesFrom; sid < last; sid++) {
    definitions.push({ tsid: registry.tsidOf(sid), tags: registry.tagsOf(sid) });
  }
  return { seriesFrom, seriesTo: Math.max(last, seriesFrom), definitions: encodeDefinitions(definitions) };
}

function scanBatch(held: HeldBatch, generation: number): ScanBatch {
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
