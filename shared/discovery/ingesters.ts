import type { RegionInfo } from '#shared/contracts/gen/common';
import type { IngesterService, ScanRequest } from '#shared/contracts/gen/ingester';

/** Finds the ingester that owns a region. */
export interface Ingesters {
  /** Returns the service of the region's owner. @throws `region_not_ready` while it has none. */
  ownerOf(region: RegionInfo): IngesterService;
  /** Whether the node has stopped, counts as gone because its lease expired, or cannot be called. */
  isAway(nodeId: number): boolean;
  /**
   * Reports whether a scan would return nothing, as far as that is known without waiting. Undefined: the owners are other
   * processes.
   */
  readonly hasNothingNew?: ((request: ScanRequest) => boolean) | undefined;
}
