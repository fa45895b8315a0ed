import type { Call } from '#shared/contracts/call';
import type { RegionInfo, Table } from '#shared/contracts/gen/common';
import type { IngesterService } from '#shared/contracts/gen/ingester';
import { AlmanacError } from '#shared/errors/almanac-error';

import type { StatementDeps } from './statement.js';

/** Regions may move while a statement runs; so often the owners are asked anew. */
const TRIES = 5;

/**
 * Runs work at all owners of a table's regions, at once, until no region had another owner meanwhile: one that moves
 * from an owner that was not asked yet to one that was would be left out.
 *
 * @param work is told which regions the owner is asked for; it may run more than once at an owner.
 * @throws `region_not_ready` if a region has no owner, or owners change again and again.
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
      // Async, so that an owner that is not there fails this one only: nobody would wait for those that were asked.
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

/** The regions of each owner. */
function byOwner(regions: readonly RegionInfo[]): (readonly RegionInfo[])[] {
  const nodeIds = new Set(regions.map(({ nodeId }) => nodeId));
  return Array.from(nodeIds, (nodeId) => regions.filter((region) => region.nodeId === nodeId));
}

function epochsOf({ regions }: Table): string {
  return regions.map(({ regionId, epoch }) => `${regionId}:${epoch}`).join();
}
