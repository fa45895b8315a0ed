import type { Clock } from '#shared/clock/clock';
import type { Table } from '#shared/contracts/gen/common';
import { AlmanacError } from '#shared/errors/almanac-error';
import { expiryNs } from '#shared/schema/ttl';
import type { Logger } from '#shared/telemetry/log';

import type { Regions } from './regions.js';

export interface GrantedRegionsDeps {
  readonly nodeId: number;
  readonly regions: Regions;
  readonly clock: Clock;
  readonly log: Logger;
  /** Aborts when the process ends. */
  readonly signal: AbortSignal;
}

/** At once, so that it takes little from those that are asked for. */
const OPENED_AT_ONCE = 2;
/** Regions that are open, and their series; more are opened at first use, because each takes memory. */
const OPEN_MAX = 4_096;
const SERIES_MAX = 1_000_000;

/** Rest after a region that could not be opened; doubled at each failure in a row. */
const REST_MS = 1_000;
const REST_MS_MAX = 10_000;

/** It is dropped or another node's; should it become this node's, that is told. */
const FINAL_CODES: ReadonlySet<string> = new Set(['region_not_found', 'region_not_ready', 'table_not_found']);

/**
 * Opens regions when they are granted, not only at their first use: they are opened with metadata, which may be away
 * by then. What cannot be opened is tried again.
 */
export class GrantedRegions {
  readonly #deps: GrantedRegionsDeps;
  readonly #waiting = new Set<number>();
  readonly #workers = new Set<Promise<void>>();

  constructor(deps: GrantedRegionsDeps) {
    this.#deps = deps;
  }

  /** Takes the regions of a table that are this node's and not open yet. */
  note({ regions }: Table): void {
    for (const { regionId, nodeId } of regions) {
      if (nodeId === this.#deps.nodeId && !this.#isOpen(regionId)) this.#waiting.add(regionId);
    }
    while (this.#workers.size < OPENED_AT_ONCE && this.#waiting.size > 0) {
      const worker = this.#work().finally(() => this.#workers.delete(worker));
      this.#workers.add(worker);
    }
  }

  /** Takes those of a table whose rows expire: they leave the disk whether or not anybody asks for them. */
  noteExpiring(table: Table): void {
    if (expiryNs(table, this.#deps.clock.nowNs()) !== undefined) this.note(table);
  }

  /** Resolves when nothing is at work any more; the signal has to abort before. */
  async ended(): Promise<void> {
    await Promise.all(this.#workers);
  }

  async #work(): Promise<void> {
    const { regions, clock, signal } = this.#deps;
    let restMs = REST_MS;
    for (const regionId of this.#waiting) {
      this.#waiting.delete(regionId);
      if (signal.aborted || regions.count >= OPEN_MAX || regions.seriesCount >= SERIES_MAX) continue;
      if (await this.#tried(regionId)) {
        restMs = REST_MS;
        continue;
      }
      this.#waiting.add(regionId);
      await clock.sleep(restMs, signal);
      restMs = Math.min(restMs * 2, REST_MS_MAX);
    }
  }

  /** @returns whether no other try is needed. */
  async #tried(regionId: number): Promise<boolean> {
    const { regions, log } = this.#deps;
    try {
      await regions.opened(regionId);
      return this.#isOpen(regionId);
    } catch (error) {
      const failure = AlmanacError.from(error);
      log.debug({ regionId, error: failure }, 'granted region could not be opened yet');
      return FINAL_CODES.has(failure.code);
    }
  }

  /** One that is being sealed may be granted to this node again before the answer of the seal is here. */
  #isOpen(regionId: number): boolean {
    return this.#deps.regions.find(regionId)?.isSealing === false;
  }
}
