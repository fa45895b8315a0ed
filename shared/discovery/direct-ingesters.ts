import type { RegionInfo } from '#shared/contracts/gen/common';
import type { IngesterService } from '#shared/contracts/gen/ingester';
import { AlmanacError } from '#shared/errors/almanac-error';

import type { Ingesters } from './ingesters.js';

/** The single ingester of this process, which owns every region. */
export class DirectIngesters implements Ingesters {
  readonly #nodeId: number;
  readonly #service: IngesterService;

  constructor(nodeId: number, service: IngesterService) {
    this.#nodeId = nodeId;
    this.#service = service;
  }

  ownerOf(region: RegionInfo): IngesterService {
    if (region.nodeId === this.#nodeId) return this.#service;
    throw new AlmanacError('region_not_ready', `region ${region.regionId} has no owner`, { retryAfterSeconds: 1 });
  }

  isAway(nodeId: number): boolean {
    return nodeId !== this.#nodeId;
  }
}
