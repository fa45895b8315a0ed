import type { Clock } from '#shared/clock/clock';
import type { Random } from '#shared/clock/random';
import { callError, ownCall } from '#shared/contracts/call';
import type { Table } from '#shared/contracts/gen/common';
import type { MetadataService, SealRegionResponse } from '#shared/contracts/gen/metadata';
import { AlmanacError } from '#shared/errors/almanac-error';
import { invariant } from '#shared/errors/invariant';
import type { MemoryBudget } from '#shared/limits/memory-budget';
import type { Logger } from '#shared/telemetry/log';

import type { Flusher } from './flusher.js';
import { closeDroppedTable, closeLostGrant } from './close-regions.js';
import { regionNotServed, type Region } from './region.js';
import type { Regions } from './regions.js';

/** Rest before metadata is asked again about a seal; doubled at each failure in a row. */
const RETRY_MS = 50;
const RETRY_MS_MAX = 2_000;

export interface SealDeps {
  readonly nodeId: number;
  readonly metadata: MetadataService;
  readonly regions: Regions;
  readonly flusher: Flusher;
  readonly memory: MemoryBudget;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Logger;
  /** Aborts when the process ends. */
  readonly signal: AbortSignal;
}

/**
 * Gives a region away: takes no more batches, brings all that were acknowledged into segments, and closes the grant.
 *
 * From sending the seal until its outcome is known the region answers no scan, because its next owner may serve it
 * already. If the seal is refused the region goes on here.
 *
 * @param toNodeId who shall have it next; 0: metadata chooses.
 * @throws `region_not_ready` if the region is being sealed already or its table was dropped; what flushing or sealing
 *   failed with otherwise.
 */
export async function handOverRegion(region: Region, toNodeId: number, deps: SealDeps): Promise<void> {
  if (region.isSealing || region.isEnded) throw regionNotServed(region.regionId);
  // Most of it while batches are still taken; what comes meanwhile is little.
  await deps.flusher.flush(region);
  if (isNoLongerOpen(region)) throw regionNotServed(region.regionId);
  region.isSealing = true;
  try {
    while (region.pendingBatches.size > 0) await Promise.allSettled(region.pendingBatches.values());
    await deps.flusher.flush(region);
    if (region.isEnded) throw regionNotServed(region.regionId);
    region.isInDoubt = true;
    const answer = await sealOrReopen(region, toNodeId, deps);
    deps.regions.remove(region);
    deps.memory.release(region.releaseAll());
    const { epoch = 0, nodeId = 0 } = answer.region ?? {};
    // `nodeId` of a log line is who writes it.
    const facts = { table: region.table.name, regionId: region.regionId, epoch, givenTo: nodeId };
    deps.log.info(facts, 'region was given away');
  } finally {
    // A process that ends does not learn the outcome any more.
    if (!deps.signal.aborted) {
      region.isSealing = false;
      region.isInDoubt = false;
    }
  }
}

/** The outcome of the seal; a region that has to be opened again is, and then sealed. */
async function sealOrReopen(region: Region, toNodeId: number, deps: SealDeps): Promise<SealRegionResponse> {
  const attempt = (): Promise<SealRegionResponse> => {
    return sendSeal(region, toNodeId, deps).catch(async (error: unknown) => {
      await afterRefusal(region, AlmanacError.from(error), deps);
      throw error;
    });
  };
  return attempt().catch((error: unknown) => {
    const isVoid = AlmanacError.from(error).details['opening'] === 'void';
    if (isVoid && !region.isEnded && !deps.signal.aborted) return attempt();
    throw error;
  });
}

/**
 * A seal was refused: whether the region goes on here is for metadata to say. If it does, it is opened again, so that the
 * next seal passes: metadata may have started anew since it was opened.
 */
async function afterRefusal(region: Region, failure: AlmanacError, deps: SealDeps): Promise<void> {
  const { metadata, nodeId, signal } = deps;
  const { regionId, table } = region;
  if (signal.aborted) return;
  // Whoever dropped the table told the owner; a seal that came through before made that another node.
  if (failure.code === 'region_not_found') return closeDroppedTable(table.tableId, deps);
  const call = ownCall(`seal-outcome-${regionId}`, signal);
  const { opening, manifest } = await retryUntilAnswered(deps, regionId, () =>
    metadata.openRegion({ regionId, nodeId }, call),
  ).catch(async (error: unknown) => {
    if (AlmanacError.from(error).code !== 'region_not_ready') throw error;
    // It is another node's, and the manifest tells since when.
    const other = await retryUntilAnswered(deps, regionId, () => metadata.getManifest({ regionId }, call));
    return { opening: 0n, manifest: other };
  });
  invariant(manifest !== undefined, `region ${regionId} was opened without its manifest`);
  // Of another grant, although it may be this node's as well.
  if (manifest.epoch !== region.epoch) return closeLostGrant(regionId, manifest.epoch, deps);
  region.opening = opening;
}

/** Looked at anew: another seal or a drop may have come while it was flushed. */
function isNoLongerOpen({ isSealing, isEnded }: Region): boolean {
  return isSealing || isEnded;
}

/** Sends the seal. One without an answer may have come through. */
async function sendSeal(region: Region, toNodeId: number, deps: SealDeps): Promise<SealRegionResponse> {
  const { metadata, nodeId, signal } = deps;
  const { regionId, epoch, applied, manifest, opening } = region;
  const { watermark } = manifest;
  const request = { regionId, epoch, nodeId, watermark, appliedIds: applied.encode(), toNodeId, opening };
  return retryUntilAnswered(deps, regionId, () =>
    metadata.sealRegion(request, ownCall(`seal-${regionId}-${epoch}`, signal)),
  );
}

/** Asks until metadata answers, or the process ends. @throws what metadata answers; what the signal aborted with. */
async function retryUntilAnswered<T>(deps: SealDeps, regionId: number, ask: () => Promise<T>): Promise<T> {
  const { clock, random, log, signal } = deps;
  for (let restMs = RETRY_MS; ; restMs = Math.min(restMs * 2, RETRY_MS_MAX)) {
    try {
      return await ask();
    } catch (error) {
      const failure = AlmanacError.from(error);
      if (!isUnanswered(failure) || signal.aborted) throw failure;
      log.warn({ regionId, error: failure }, 'seal has no answer yet');
    }
    await clock.sleep(restMs * (0.5 + random.fraction()), signal);
    if (signal.aborted) throw callError(signal);
  }
}

function isUnanswered({ code }: AlmanacError): boolean {
  return code === 'external' || code === 'deadline_exceeded' || code === 'cancelled';
}

/** Seals the regions, a few at a time; what fails is logged, and metadata asks for it again. */
export async function handOverRegions(regionIds: readonly number[], toNodeId: number, deps: SealDeps): Promise<void> {
  const waiting = [...regionIds];
  const work = async (): Promise<void> => {
    for (let regionId = waiting.shift(); regionId !== undefined; regionId = waiting.shift()) {
      if (deps.signal.aborted) return;
      try {
        const region = await deps.regions.opened(regionId);
        if (!region.isSealing) await handOverRegion(region, toNodeId, deps);
      } catch (error) {
        deps.log.warn({ regionId, error: AlmanacError.from(error) }, 'region could not be given away');
      }
    }
  };
  await Promise.all(Array.from({ length: SEALS_AT_ONCE }, work));
}

const SEALS_AT_ONCE = 4;

/** Lets go of regions of the table that other nodes own by now. */
export function closeLostGrants(table: Table, deps: SealDeps): void {
  for (const { regionId, epoch } of table.regions) {
    // A seal of our own hears of its outcome by itself.
    if (deps.regions.find(regionId)?.isSealing !== true) closeLostGrant(regionId, epoch, deps);
  }
}
