import type { RegionState, RegionStatesRequest, RegionStatesResponse } from '#shared/contracts/gen/ingester';

import type { Ingester } from '../ingester.js';
import { checkRegionIds } from '../region/regions.js';

/** Ingester.RegionStates: returns, for each region, the rows that are in no segment yet. */
export function regionStates(
  { regions, clock }: Pick<Ingester, 'regions' | 'clock'>,
  { regionIds }: RegionStatesRequest,
): RegionStatesResponse {
  checkRegionIds(regionIds);
  const nowMs = clock.nowMs();
  return {
    regions: regionIds.map((regionId): RegionState => {
      const generations = regions.find(regionId)?.generations ?? [];
      const firstPutMs = generations.at(0)?.firstPutMs;
      return {
        regionId,
        rows: generations.reduce((sum, { rowCount }) => sum + rowCount, 0),
        memtableBytes: generations.reduce((sum, { heldBytes }) => sum + heldBytes, 0),
        walBytes: generations.reduce((sum, { logBytes }) => sum + logBytes, 0),
        flushLagMs: firstPutMs === undefined ? undefined : Math.max(0, nowMs - firstPutMs),
      };
    }),
  };
}
