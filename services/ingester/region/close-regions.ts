import type { MemoryBudget } from '#shared/limits/memory-budget';
import type { Logger } from '#shared/telemetry/log';

import type { Regions } from './regions.js';

/** What closing regions needs. */
export interface CloseRegionDeps {
  readonly regions: Regions;
  readonly memory: MemoryBudget;
  readonly log: Logger;
}

/** Closes the regions of a dropped table. Batches that wait for the log are refused. */
export function closeDroppedTable(tableId: number, { regions, memory }: Omit<CloseRegionDeps, 'log'>): void {
  for (const region of regions.drop(tableId)) memory.release(region.releaseAll());
}

/**
 * Closes a region that another node owns, because an operator abandoned this node while it was away. Rows that are in no
 * segment are lost; the operator was warned about that.
 *
 * @param epoch of the open grant.
 */
export function closeLostGrant(regionId: number, epoch: number, { regions, memory, log }: CloseRegionDeps): void {
  const region = regions.find(regionId);
  if (region === undefined || epoch <= region.epoch) return;
  const lostRows = region.generations.reduce((sum, generation) => sum + generation.rowCount, 0);
  log.error(
    { table: region.table.name, regionId, epoch, lostRows },
    'region closed: this node was away for too long, rows that were not flushed are lost',
  );
  regions.remove(region);
  memory.release(region.releaseAll());
}
