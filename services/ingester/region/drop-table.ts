import type { MemoryBudget } from '#shared/limits/memory-budget';

import type { Regions } from './regions.js';

/** Lets go of the regions of a table that was dropped: batches under way to them are refused. */
export function dropTable(
  tableId: number,
  { regions, memory }: { readonly regions: Regions; readonly memory: MemoryBudget },
): void {
  for (const region of regions.drop(tableId)) memory.release(region.releaseAll());
}
