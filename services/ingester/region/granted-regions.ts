import type { Clock } from '#shared/clock/clock';
import type { Table } from '#shared/contracts/gen/common';
import { AlmanacError } from '#shared/errors/almanac-error';
import { expiryNs } from '#shared/schema/ttl';
import type { Logger } from '#shared/telemetry/log';

import type { Regions } from './regions.js';

/** What opening granted regions needs. */
export interface GrantedRegionsDeps {
  readonly nodeId: number;
  readonly regions: Regions;
  readonly openedAtOnce: number;
  readonly clock: Clock;
  readonly log: Logger;
  /** Aborts when the process ends. */
  readonly signal: AbortSignal;
}

/** Limits of open regions and their series. Further regions are opened at first use, because each takes memory. */
const OPEN_MAX = 4_096;
const SERIES_MAX = 1_000_000;

/** Rest after a region could not be opened, in milliseconds; doubled at each failure in a row. */
const REST_MS = 1_000;
const REST_MS_MAX = 10_000;

/** The region was dropped or belongs to another node; a new grant is announced. */
const FINAL_CODES: ReadonlySet<string> = new Set(['region_not_found', 'region_not_ready', 'table_not_found']);

/**
 * Opens regions when they are granted, or after the start, not only at first use: opening takes time, and needs metadata,
 * which may be down by then. Failures are retried.
 */
export class GrantedRegions {
  readonly #deps: GrantedRegionsDeps;
  readonly #waiting = new Set<number>();
  readonly #workers = new Set<Promise<void>>();

  constructor(deps: GrantedRegionsDeps) {
    this.#deps = deps;
  }

  /** Queues the table's regions that this node owns and has not opened. */
  note({ regions }: Table): void {
    for (const { regionId, nodeId } of regions) {
      if (nodeId === this.#deps.nodeId && !this.#isOpen(regionId)) this.#waiting.add(regionId);
    }
    while (this.#workers.size < this.#deps.openedAtOnce && this.#waiting.size > 0) {
      const worker = this.#work().finally(() => this.#workers.delete(worker));
      this.#workers.add(worker);
    }
  }

  /** Queues the regions of a table with a `ttl`: their rows expire even if no request opens them. */
  noteExpiring(table: Table): void {
    if (expiryNs(table, this.#deps.clock.nowNs()) !== undefined) this.note(table);
  }

  /** Resolves when no region is being opened. The signal must abort before. */
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

  /** @returns whether no further attempt is needed. */
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

  /** A region that is being sealed may be granted to this node again before the reply to the seal arrives. */
  #isOpen(regionId: number): boolean {
    return this.#deps.regions.find(regionId)?.isSealing === false;
  }
}
