import type { RegionInfo } from '#shared/contracts/gen/common';
import type { IngesterService } from '#shared/contracts/gen/ingester';

/** Who serves which region. */
export interface Ingesters {
  /** The service of the region's owner. @throws `region_not_ready` while nobody owns it. */
  ownerOf(region: RegionInfo): IngesterService;
  /** Each owner of the regions once. @throws `region_not_ready` if a region has none. */
  ownersOf(regions: readonly RegionInfo[]): readonly IngesterService[];
}
