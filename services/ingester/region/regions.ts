import type { Clock } from '#shared/clock/clock';
import { checkCall, ownCall, type Call } from '#shared/contracts/call';
import type { Table } from '#shared/contracts/gen/common';
import type { MetadataService } from '#shared/contracts/gen/metadata';
import type { DuckDBInstance } from '#shared/duckdb/engine';
import { AlmanacError } from '#shared/errors/almanac-error';
import { invariant } from '#shared/errors/invariant';
import type { LocalStore } from '#shared/segments/local-store';

import type { KeyRetention } from './applied-ids.js';
import type { AppliedIdsFile } from './applied-ids-file.js';
import { loadRegistry } from './load-registry.js';
import { regionNotServed, Region, tableDroppedError } from './region.js';

/** What opening regions needs. */
export interface RegionsOptions {
  readonly nodeId: number;
  readonly metadata: MetadataService;
  /** Called with the table of each region that is opened. Returns false if the table is known to be dropped. */
  readonly onTableOpened: (table: Table) => boolean;
  readonly engine: DuckDBInstance;
  readonly store: LocalStore;
  readonly appliedIds: AppliedIdsFile;
  readonly keys: KeyRetention;
  readonly clock: Clock;
  /** Aborts when the process ends. */
  readonly signal: AbortSignal;
}

/** Longest time that calls wait for a region that is being opened, in milliseconds. */
const OPENING_MS_MAX = 3_000;

/** What a caller assumes about a region. */
export interface ExpectedRegion {
  readonly tableId: number;
  readonly regionId: number;
  /** 0: any epoch. */
  readonly epoch: number;
  /** Schema version that the caller knows; a newer one than ours is fetched. */
  readonly schemaVersion: number;
}

/** How a call waits for a region. */
export interface ServingOptions {
  /** Waits for as long as the opening takes, because no other node can take the rows. */
  readonly isPatient?: boolean;
}

/** Regions that this node owns. They are opened at first use. */
export class Regions {
  readonly #options: RegionsOptions;
  readonly #regions = new Map<number, Region>();
  readonly #opening = new Map<number, Promise<Region>>();
  /** Tables that were dropped while regions were being opened. */
  readonly #droppedMeanwhile = new Set<number>();

  constructor(options: RegionsOptions) {
    this.#options = options;
  }

  get open(): Iterable<Region> {
    return this.#regions.values();
  }

  get count(): number {
    return this.#regions.size;
  }

  /** Series of all open regions. */
  get seriesCount(): number {
    let count = 0;
    for (const { registry } of this.#regions.values()) count += registry.count;
    return count;
  }

  find(regionId: number): Region | undefined {
    return this.#regions.get(regionId);
  }

  /**
   * Returns the region ready for rows: open, its registry loaded, its schema at least as new as the caller's.
   *
   * @throws `region_not_ready` if this node does not have its grant, or another epoch is open; `table_not_found` if
   *   it was dropped.
   */
  async serving(address: ExpectedRegion, call: Call, { isPatient = false }: ServingOptions = {}): Promise<Region> {
    const region = this.#regions.get(address.regionId) ?? (await this.#opened(address, call, isPatient));
    if (region.isEnded) throw region.endedError();
    if (region.table.tableId !== address.tableId) throw tableDroppedError(address.tableId);
    if (region.isInDoubt || (address.epoch !== 0 && address.epoch !== region.epoch)) {
      throw regionNotServed(address.regionId);
    }
    if (region.table.schemaVersion < address.schemaVersion) {
      region.updateTable(await this.#options.metadata.getTable(byId(address.tableId), call));
    }
    return region;
  }

  /** Returns the region that `serving` would return, if it need not wait; undefined otherwise, or if it would fail. */
  ready({ regionId, tableId, epoch, schemaVersion }: ExpectedRegion): Region | undefined {
    const region = this.#regions.get(regionId);
    if (region === undefined || region.isEnded || region.isInDoubt || region.table.tableId !== tableId) {
      return undefined;
    }
    const isExpected = epoch === 0 || epoch === region.epoch;
    return isExpected && region.table.schemaVersion >= schemaVersion ? region : undefined;
  }

  /** @throws `region_not_ready` if the region was served a moment ago and no longer is. */
  checkServing(region: Region): void {
    if (this.#regions.get(region.regionId) !== region || region.isInDoubt) throw regionNotServed(region.regionId);
  }

  /**
   * Returns the region, opening it if needed.
   * @throws `region_not_ready` if this node does not have its grant.
   */
  opened(regionId: number): Promise<Region> {
    const region = this.#regions.get(regionId);
    // Synchronous up to here, so that a region is never opened twice.
    return region === undefined ? this.#underWay(regionId) : Promise.resolve(region);
  }

  /** Removes a region that another node owns from now on. */
  remove(region: Region): void {
    region.end('granted to another node');
    if (this.#regions.get(region.regionId) === region) this.#regions.delete(region.regionId);
  }

  /** Returns whether a region of the table is open, or may be among those being opened. */
  mayHave(tableId: number): boolean {
    if (this.#opening.size > 0) return true;
    for (const region of this.#regions.values()) if (region.table.tableId === tableId) return true;
    return false;
  }

  /** Removes and returns the regions of a dropped table; those being opened are refused. */
  drop(tableId: number): Region[] {
    if (this.#opening.size > 0) this.#droppedMeanwhile.add(tableId);
    const dropped: Region[] = [];
    for (const region of this.#regions.values()) {
      if (region.table.tableId !== tableId) continue;
      region.end('table dropped');
      this.#regions.delete(region.regionId);
      dropped.push(region);
    }
    return dropped;
  }

  async #opened(address: ExpectedRegion, call: Call, isPatient: boolean): Promise<Region> {
    try {
      const opening = this.#underWay(address.regionId);
      const region = await (isPatient ? opening : this.#soon(opening, address.regionId));
      checkCall(call);
      return region;
    } catch (error) {
      // Regions are dropped with their table.
      if (error instanceof AlmanacError && error.code === 'region_not_found') throw tableDroppedError(address.tableId);
      throw error;
    }
  }

  /**
   * @throws `region_not_ready` if it takes long: metadata may be down, and the caller should hear that before its
   *   deadline.
   */
  #soon(opening: Promise<Region>, regionId: number): Promise<Region> {
    return new Promise((resolve, reject) => {
      const timer = this.#options.clock.after(OPENING_MS_MAX, () => {
        const text = `region ${regionId} is not open yet: metadata does not answer, or it has very many series`;
        reject(new AlmanacError('region_not_ready', text, { retryAfterSeconds: 1 }));
      });
      opening.then(resolve, reject).finally(() => timer.cancel());
    });
  }

  /** Returns the opening in progress of a region, or starts one. */
  #underWay(regionId: number): Promise<Region> {
    const present = this.#opening.get(regionId);
    if (present !== undefined) return present;
    const opening = this.#openRegion(regionId).finally(() => {
      this.#opening.delete(regionId);
      if (this.#opening.size === 0) this.#droppedMeanwhile.clear();
    });
    this.#opening.set(regionId, opening);
    return opening;
  }

  async #openRegion(regionId: number): Promise<Region> {
    const { metadata, nodeId, keys, onTableOpened, signal } = this.#options;
    const call = ownCall(`open-region-${regionId}`, signal);
    const { table, manifest, appliedIds, opening } = await metadata.openRegion({ regionId, nodeId }, call);
    invariant(table !== undefined && manifest !== undefined, `region ${regionId} was opened without its table`);
    // From here on a drop of the table is announced, unless it is known already.
    if (!onTableOpened(table)) throw tableDroppedError(table.tableId);
    const region = new Region(table, manifest, opening, keys);
    region.applied.merge(appliedIds);
    await loadRegistry(region, this.#options);
    // The grant may have been closed meanwhile, which is not announced again.
    const { epoch } = await metadata.getManifest({ regionId }, call);
    // The table may have been dropped while the replies were on their way, which is not announced again either.
    if (this.#droppedMeanwhile.has(table.tableId)) throw tableDroppedError(table.tableId);
    if (epoch !== region.epoch) throw regionNotServed(regionId);
    invariant(!this.#regions.has(regionId), `region ${regionId} was opened twice`);
    // Synchronous with `set`: the log, which may be replayed meanwhile, adds ids to open regions itself.
    this.#options.appliedIds.restoreInto(region);
    this.#regions.set(regionId, region);
    return region;
  }
}

function byId(tableId: number): { database: string; name: string; tableId: number } {
  return { database: '', name: '', tableId };
}

/** Regions of one call: more than a table has. */
const CALL_REGIONS_MAX = 1024;

/**
 * Checks the region list of a call. Each region that is not open costs a metadata call, and each duplicate a second
 * reply: a small message must not cause that much work.
 *
 * @throws `invalid_arguments` if the call names too many regions, or one of them twice.
 */
export function checkRegionIds(regionIds: readonly number[]): void {
  if (regionIds.length > CALL_REGIONS_MAX) {
    const text = `a call names at most ${CALL_REGIONS_MAX} regions, not ${regionIds.length}`;
    throw new AlmanacError('invalid_arguments', text);
  }
  if (new Set(regionIds).size < regionIds.length) {
    throw new AlmanacError('invalid_arguments', 'the call names a region more than once');
  }
}
