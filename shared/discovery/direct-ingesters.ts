import type { RegionInfo } from '#shared/contracts/gen/common';
import type { IngesterService, ScanRequest } from '#shared/contracts/gen/ingester';
import { AlmanacError } from '#shared/errors/almanac-error';

import type { Ingesters } from './ingesters.js';

/** An ingester of this process. */
export interface DirectIngester {
  readonly service: IngesterService;
  /** Reports whether a scan would return nothing, as far as that is known without waiting. */
  hasNothingNew(request: ScanRequest): boolean;
}

/** The single ingester of this process, which owns every region. */
export class DirectIngesters implements Ingesters {
  readonly #nodeId: number;
  readonly #ingester: DirectIngester;

  constructor(nodeId: number, ingester: DirectIngester) {
    this.#nodeId = nodeId;
    this.#ingester = ingester;
  }

  ownerOf(region: RegionInfo): IngesterService {
    if (region.nodeId === this.#nodeId) return this.#ingester.service;
    throw new AlmanacError('region_not_ready', `region ${region.regionId} has no owner`, { retryAfterSeconds: 1 });
  }

  isAway(nodeId: number): boolean {
    return nodeId !== this.#nodeId;
  }

  readonly hasNothingNew = (request: ScanRequest): boolean => this.#ingester.hasNothingNew(request);
}
