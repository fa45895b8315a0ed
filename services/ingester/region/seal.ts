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

/** Rest before a seal is sent again, in milliseconds; doubled at each failure in a row. */
const RETRY_MS = 50;
const RETRY_MS_MAX = 2_000;

/** What handing regions over needs. */
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
 * Hands a region over: refuses new batches, flushes everything that was acknowledged, and closes the grant.
 *
 * From sending the seal until its outcome is known the region refuses scans, because its next owner may already serve
 * it. If the seal is refused, the region continues here.
 *
 * @param toNodeId next owner; 0: metadata chooses.
 * @throws `region_not_ready` if the region is already being sealed or its table was dropped; otherwise the error of
 *   the flush or the seal.
 */
export async function handOverRegion(region: Region, toNodeId: number, deps: SealDeps): Promise<void> {
  if (region.isSealing || region.isEnded) throw regionNotServed(region.regionId);
  // Flushes most rows while batches are still accepted; few arrive meanwhile.
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
    // `nodeId` of a log line is the node that writes it.
    const facts = { table: region.table.name, regionId: region.regionId, epoch, givenTo: nodeId };
    deps.log.info(facts, 'region handed over');
  } finally {
    // A process that ends does not learn the outcome.
    if (!deps.signal.aborted) {
      region.isSealing = false;
      region.isInDoubt = false;
    }
  }
}

/** Seals the region; if metadata requires it, opens the region again first. */
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
 * Finds out after a refused seal whether the region continues here. If so, it is opened again so that the next seal
 * succeeds: metadata may have restarted since it was opened.
 */
async function afterRefusal(region: Region, failure: AlmanacError, deps: SealDeps): Promise<void> {
  const { metadata, nodeId, signal } = deps;
  const { regionId, table } = region;
  if (signal.aborted) return;
  // The table was dropped, which its owner knows; if an earlier seal succeeded, the owner was another node.
  if (failure.code === 'region_not_found') return closeDroppedTable(table.tableId, deps);
  const call = ownCall(`seal-outcome-${regionId}`, signal);
  const { opening, manifest } = await retryUntilAnswered(deps, regionId, () =>
    metadata.openRegion({ regionId, nodeId }, call),
  ).catch(async (error: unknown) => {
    if (AlmanacError.from(error).code !== 'region_not_ready') throw error;
    // Another node owns it, under the epoch of the manifest.
    const other = await retryUntilAnswered(deps, regionId, () => metadata.getManifest({ regionId }, call));
    return { opening: 0n, manifest: other };
  });
  invariant(manifest !== undefined, `region ${regionId} was opened without its manifest`);
  // Under another grant, possibly also of this node.
  if (manifest.epoch !== region.epoch) return closeLostGrant(regionId, manifest.epoch, deps);
  region.opening = opening;
}

/** Checked again: another seal or a drop may have come during the flush. */
function isNoLongerOpen({ isSealing, isEnded }: Region): boolean {
  return isSealing || isEnded;
}

/** Sends the seal. If the reply is lost, it may have succeeded. */
async function sendSeal(region: Region, toNodeId: number, deps: SealDeps): Promise<SealRegionResponse> {
  const { metadata, nodeId, signal } = deps;
  const { regionId, epoch, applied, manifest, opening } = region;
  const { watermark } = manifest;
  const request = { regionId, epoch, nodeId, watermark, appliedIds: applied.encode(), toNodeId, opening };
  return retryUntilAnswered(deps, regionId, () =>
    metadata.sealRegion(request, ownCall(`seal-${regionId}-${epoch}`, signal)),
  );
}

/**
 * Calls until metadata answers or the process ends.
 * @throws metadata's error, or the signal's.
 */
async function retryUntilAnswered<T>(deps: SealDeps, regionId: number, ask: () => Promise<T>): Promise<T> {
  const { clock, random, log, signal } = deps;
  for (let restMs = RETRY_MS; ; restMs = Math.min(restMs * 2, RETRY_MS_MAX)) {
    try {
      return await ask();
    } catch (error) {
      const failure = AlmanacError.from(error);
      if (!isUnanswered(failure) || signal.aborted) throw failure;
      log.warn({ regionId, error: failure }, 'metadata did not reply to the handover of a region, retrying');
    }
    await clock.sleep(restMs * (0.5 + random.fraction()), signal);
    if (signal.aborted) throw callError(signal);
  }
}

function isUnanswered({ code }: AlmanacError): boolean {
  return code === 'external' || code === 'deadline_exceeded' || code === 'cancelled';
}

/** Hands regions over, a few at a time. A failure is logged, and metadata requests the move again. */
export async function handOverRegions(regionIds: readonly number[], toNodeId: number, deps: SealDeps): Promise<void> {
  const waiting = [...regionIds];
  const work = async (): Promise<void> => {
    for (let regionId = waiting.shift(); regionId !== undefined; regionId = waiting.shift()) {
      if (deps.signal.aborted) return;
      try {
        const region = await deps.regions.opened(regionId);
        if (!region.isSealing) await handOverRegion(region, toNodeId, deps);
      } catch (error) {
        deps.log.warn({ regionId, error: AlmanacError.from(error) }, 'handing over a region failed');
      }
    }
  };
  await Promise.all(Array.from({ length: SEALS_AT_ONCE }, work));
}

const SEALS_AT_ONCE = 4;

/** Closes regions of the table that other nodes own. */
export function closeLostGrants(table: Table, deps: SealDeps): void {
  for (const { regionId, epoch } of table.regions) {
    // A seal of this process handles its own outcome.
    if (deps.regions.find(regionId)?.isSealing !== true) closeLostGrant(regionId, epoch, deps);
  }
}
