import type { Clock } from '#shared/clock/clock';
import { checkCall, ownCall, type Call } from '#shared/contracts/call';
import type { Table } from '#shared/contracts/gen/common';
import type { MetadataService } from '#shared/contracts/gen/metadata';
import type { DuckDBInstance } from '#shared/duckdb/engine';
import { AlmanacError } from '#shared/errors/almanac-error';
import { invariant } from '#shared/errors/invariant';
import type { LocalStore } from '#shared/segments/local-store';

import type { KeyMemory } from './applied-ids.js';
import type { KeptIds } from './kept-ids.js';
import { loadRegistry } from './load-registry.js';
import { notHere, Region, tableGone } from './region.js';

export interface RegionsOptions {
  readonly nodeId: number;
  readonly metadata: MetadataService;
  /** Told of the table of each region that is opened. @returns whether it may still be there. */
  readonly noteTable: (table: Table) => boolean;
  readonly engine: DuckDBInstance;
  readonly store: LocalStore;
  readonly keptIds: KeptIds;
  readonly keys: KeyMemory;
  readonly clock: Clock;
  /** Aborts when the process ends. */
  readonly signal: AbortSignal;
}

/** How long calls wait for a region that is being opened. */
const OPENING_MS_MAX = 3_000;

/** What a caller believes of a region. */
export interface RegionAddress {
  readonly tableId: number;
  readonly regionId: number;
  /** 0: whichever is open. */
  readonly epoch: number;
  /** Version that the caller knows; a newer one than ours is fetched. */
  readonly schemaVersion: number;
}

export interface ServingOptions {
  /** A region that is not open yet is waited for as long as it takes: nobody else can take the rows. */
  readonly isPatient?: boolean;
}

/** The regions that this node owns. They are opened at first use. */
export class Regions {
  readonly #options: RegionsOptions;
  readonly #regions = new Map<number, Region>();
  readonly #opening = new Map<number, Promise<Region>>();
  /** Tables that were dropped while regions are being opened. */
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
   * The region, ready for rows: open, its registry loaded, its schema as new as the caller's.
   *
   * @throws `region_not_ready` if its grant is not ours, or another epoch is open; `table_not_found` if it was dropped.
   */
  async serving(address: RegionAddress, call: Call, { isPatient = false }: ServingOptions = {}): Promise<Region> {
    const region = this.#regions.get(address.regionId) ?? (await this.#opened(address, call, isPatient));
    if (region.isEnded) throw region.refusal();
    if (region.table.tableId !== address.tableId) throw tableGone(address.tableId);
    if (region.isInDoubt || (address.epoch !== 0 && address.epoch !== region.epoch)) throw notHere(address.regionId);
    if (region.table.schemaVersion < address.schemaVersion) {
      region.adopt(await this.#options.metadata.getTable(byId(address.tableId), call));
    }
    return region;
  }

  /** @throws `region_not_ready` if the region, which was served a moment ago, is not any more. */
  checkServing(region: Region): void {
    if (this.#regions.get(region.regionId) !== region || region.isInDoubt) throw notHere(region.regionId);
  }

  /** The region, opened if need be. @throws `region_not_ready` if its grant is not ours. */
  opened(regionId: number): Promise<Region> {
    const region = this.#regions.get(regionId);
    // Nothing is awaited before it is noted that the region is being opened: it must not be twice.
    return region === undefined ? this.#underWay(regionId) : Promise.resolve(region);
  }

  /** Forgets a region that another node owns from now on. */
  remove(region: Region): void {
    region.end('granted anew');
    if (this.#regions.get(region.regionId) === region) this.#regions.delete(region.regionId);
  }

  /** Whether a region of the table is open, or may be among those that are being opened. */
  mayHave(tableId: number): boolean {
    if (this.#opening.size > 0) return true;
    for (const region of this.#regions.values()) if (region.table.tableId === tableId) return true;
    return false;
  }

  /** Forgets regions whose table was dropped, also those that are being opened. @returns them. */
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

  async #opened(address: RegionAddress, call: Call, isPatient: boolean): Promise<Region> {
    try {
      const opening = this.#underWay(address.regionId);
      const region = await (isPatient ? opening : this.#soon(opening, address.regionId));
      checkCall(call);
      return region;
    } catch (error) {
      // Regions go with their table.
      if (error instanceof AlmanacError && error.code === 'region_not_found') throw tableGone(address.tableId);
      throw error;
    }
  }

  /** @throws `region_not_ready` if it takes long: metadata may be away, and the caller shall hear that while it listens. */
  #soon(opening: Promise<Region>, regionId: number): Promise<Region> {
    return new Promise((resolve, reject) => {
      const timer = this.#options.clock.after(OPENING_MS_MAX, () => {
        const text = `region ${regionId} is not open yet: metadata does not answer, or it has very many series`;
        reject(new AlmanacError('region_not_ready', text, { retryAfterSeconds: 1 }));
      });
      opening.then(resolve, reject).finally(() => timer.cancel());
    });
  }

  /** The opening of a region that is not open yet. */
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
    const { metadata, nodeId, keys, noteTable, signal } = this.#options;
    const call = ownCall(`open-region-${regionId}`, signal);
    const { table, manifest, appliedIds, opening } = await metadata.openRegion({ regionId, nodeId }, call);
    invariant(table !== undefined && manifest !== undefined, `region ${regionId} was opened without its table`);
    // From here on its end is told, unless that is known already.
    if (!noteTable(table)) throw tableGone(table.tableId);
    const region = new Region(table, manifest, opening, keys);
    region.applied.adopt(appliedIds);
    await loadRegistry(region, this.#options);
    // Its grant may have been closed meanwhile; nobody would tell of that again.
    const { epoch } = await metadata.getManifest({ regionId }, call);
    // Nor that its table was dropped, which may have been told while the answers were on their way.
    if (this.#droppedMeanwhile.has(table.tableId)) throw tableGone(table.tableId);
    if (epoch !== region.epoch) throw notHere(regionId);
    invariant(!this.#regions.has(regionId), `region ${regionId} was opened twice`);
    // With nothing in between: the log, which may be read meanwhile, tells regions that are open itself.
    this.#options.keptIds.report(region);
    this.#regions.set(regionId, region);
    return region;
  }
}

function byId(tableId: number): { database: string; name: string; tableId: number } {
  return { database: '', name: '', tableId };
}
