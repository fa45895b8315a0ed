import type { Table } from '#shared/contracts/gen/common';
import { AlmanacError } from '#shared/errors/almanac-error';
import type { Logger } from '#shared/telemetry/log';

import type { Regions } from './regions.js';

export interface GrantedRegionsDeps {
  readonly nodeId: number;
  readonly regions: Regions;
  readonly log: Logger;
  /** Aborts when the process ends. */
  readonly signal: AbortSignal;
}

/** At once, so that it takes little from those that are asked for. */
const OPENED_AT_ONCE = 2;
/** Regions that are open; more are opened at first use, because each takes memory. */
const OPEN_MAX = 4_096;

/**
 * Opens regions when they are granted, not only at their first use: they are opened with metadata, which may be away
 * by then.
 */
export class GrantedRegions {
  readonly #deps: GrantedRegionsDeps;
  readonly #waiting = new Set<number>();
  #workers = 0;

  constructor(deps: GrantedRegionsDeps) {
    this.#deps = deps;
  }

  /** Takes the regions of a table that are this node's and not open yet. */
  note({ regions }: Table): void {
    for (const { regionId, nodeId } of regions) {
      if (nodeId === this.#deps.nodeId && this.#deps.regions.find(regionId) === undefined) this.#waiting.add(regionId);
    }
    while (this.#workers < OPENED_AT_ONCE && this.#waiting.size > 0) void this.#work();
  }

  async #work(): Promise<void> {
    const { regions, log, signal } = this.#deps;
    this.#workers++;
    for (const regionId of this.#waiting) {
      this.#waiting.delete(regionId);
      if (signal.aborted || regions.count >= OPEN_MAX) continue;
      try {
        await regions.opened(regionId);
      } catch (error) {
        // Whoever needs it tries again.
        log.debug({ regionId, error: AlmanacError.from(error) }, 'granted region could not be opened yet');
      }
    }
    this.#workers--;
  }
}
