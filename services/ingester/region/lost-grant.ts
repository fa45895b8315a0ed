import type { MemoryBudget } from '#shared/limits/memory-budget';
import type { Logger } from '#shared/telemetry/log';

import type { Regions } from './regions.js';

export interface LostGrantDeps {
  readonly regions: Regions;
  readonly memory: MemoryBudget;
  readonly log: Logger;
}

/**
 * Lets go of a region that another node owns by now, because an operator closed its grant while this node was away.
 * Rows of it that are in no segment are lost, which whoever abandoned the node was told.
 *
 * @param epoch of the grant that is open.
 */
export function dropLost(regionId: number, epoch: number, { regions, memory, log }: LostGrantDeps): void {
  const region = regions.find(regionId);
  if (region === undefined || epoch <= region.epoch) return;
  const lostRows = region.generations.reduce((sum, generation) => sum + generation.rowCount, 0);
  log.error({ table: region.table.name, regionId, epoch, lostRows }, 'grant of a region was closed');
  regions.remove(region);
  memory.release(region.releaseAll());
}
