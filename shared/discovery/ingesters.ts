import type { RegionInfo } from '#shared/contracts/gen/common';
import type { IngesterService } from '#shared/contracts/gen/ingester';

/** Who serves which region. */
export interface Ingesters {
  /** The service of the region's owner. @throws `region_not_ready` while nobody owns it. */
  ownerOf(region: RegionInfo): IngesterService;
  /** Whether the node has ended, was not heard of for so long that it counts as gone, or cannot be called at all. */
  isAway(nodeId: number): boolean;
}
