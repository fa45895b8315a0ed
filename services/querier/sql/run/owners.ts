import type { Call } from '#shared/contracts/call';
import type { RegionInfo, Table } from '#shared/contracts/gen/common';
import type { IngesterService } from '#shared/contracts/gen/ingester';
import { AlmanacError } from '#shared/errors/almanac-error';

import type { StatementDeps } from '../statement.js';

/** Regions may move while a statement runs; the owners are looked up at most this many times. */
const TRIES = 5;

/**
 * Runs work at all owners of a table's regions in parallel, again until no region has changed its owner meanwhile: a region
 * that moves between two owners during the calls could be missed by both.
 *
 * @param work gets the regions of an owner; it may run more than once for an owner.
 * @throws `region_not_ready` if a region has no owner, or owners keep changing.
 */
export async function atAllOwners(
  { metadata, ingesters }: StatementDeps,
  { tableId }: Table,
  call: Call,
  work: (owner: IngesterService, regionIds: readonly number[]) => Promise<unknown>,
): Promise<void> {
  const byId = { database: '', name: '', tableId };
  let table = await metadata.getTable(byId, call);
  for (let attempt = 0; attempt < TRIES; attempt++) {
    await Promise.all(
      // Async, so that a missing owner rejects this promise only: the other calls must still be awaited.
      byOwner(table.regions).map(async (regions) => {
        const owner = ingesters.ownerOf(regions[0]);
        await work(
          owner,
          regions.map(({ regionId }) => regionId),
        );
      }),
    );
    const after = await metadata.getTable(byId, call);
    if (epochsOf(after) === epochsOf(table)) return;
    table = after;
  }
  throw new AlmanacError('region_not_ready', `regions of table "${table.name}" are being moved`, {
    retryAfterSeconds: 1,
  });
}

/** Groups regions by owner. */
function byOwner(regions: readonly RegionInfo[]): (readonly RegionInfo[])[] {
  const nodeIds = new Set(regions.map(({ nodeId }) => nodeId));
  return Array.from(nodeIds, (nodeId) => regions.filter((region) => region.nodeId === nodeId));
}

function epochsOf({ regions }: Table): string {
  return regions.map(({ regionId, epoch }) => `${regionId}:${epoch}`).join();
}
