import type { MetadataCatalog } from './catalog.js';
import type { Leases } from './leases.js';
import type { RegionRecord } from './store/regions.js';

/** Regions that one owner is asked to give away at a time, so that most of its tables take writes meanwhile. */
const MOVES_AT_ONCE = 8;
/** A node gets regions of others only after it was ready for so long: one that fails at once should not. */
const TAKER_AFTER_MS = 2_000;
/** For so long the rebalancer leaves a region where an operator moved it. */
const PIN_MS = 60_000;

interface PlannedMove {
  readonly regionId: number;
  readonly fromNodeId: number;
  readonly toNodeId: number;
  readonly isManual: boolean;
}

/**
 * Which regions are wanted at another node than their owner, by an operator or for an even load.
 *
 * In memory only: after a restart the load is as uneven as before, and the same wishes arise again.
 */
export class RegionMoves {
  readonly #catalog: MetadataCatalog;
  readonly #leases: Leases;
  readonly #planned = new Map<number, PlannedMove>();
  readonly #pinnedUntilMs = new Map<number, number>();

  constructor(catalog: MetadataCatalog, leases: Leases) {
    this.#catalog = catalog;
    this.#leases = leases;
  }

  /** Takes an operator's wish; it replaces an earlier one. */
  request({ regionId, nodeId }: RegionRecord, toNodeId: number): void {
    this.#planned.delete(regionId);
    if (nodeId === toNodeId) this.#pin(regionId);
    else this.#planned.set(regionId, { regionId, fromNodeId: nodeId, toNodeId, isManual: true });
  }

  /** Where the region is wanted; 0 if nowhere else. */
  targetOf(regionId: number): number {
    return this.#planned.get(regionId)?.toNodeId ?? 0;
  }

  /** Ends a wish: the region has a new grant. */
  granted(regionId: number, nodeId: number): void {
    const wish = this.#planned.get(regionId);
    this.#planned.delete(regionId);
    if (wish?.isManual === true && wish.toNodeId === nodeId) this.#pin(regionId);
  }

  /** Ends the wishes from and to a node that takes no part any more. */
  removeNode(nodeId: number): void {
    for (const wish of this.#planned.values()) {
      if (wish.fromNodeId === nodeId || wish.toNodeId === nodeId) this.#planned.delete(wish.regionId);
    }
  }

  /** The regions that a ready ingester shall seal now, an operator's first. */
  dueFor(nodeId: number): number[] {
    const takers = this.#takers(nodeId);
    const wished = this.#stillWanted(nodeId, takers);
    const loads = this.#plannedLoads([nodeId, ...takers]);
    if (wished.length < MOVES_AT_ONCE && takerFrom(loads, nodeId) !== 0) {
      wished.push(...this.#plan(nodeId, loads, MOVES_AT_ONCE - wished.length));
    }
    return wished
      .sort((a, b) => Number(b.isManual) - Number(a.isManual))
      .slice(0, MOVES_AT_ONCE)
      .map((wish) => wish.regionId);
  }

  #takers(nodeId: number): number[] {
    const others = this.#catalog.nodes.readyIngesterIds().filter((it) => it !== nodeId);
    return others.filter((it) => this.#leases.readyForMs(it) >= TAKER_AFTER_MS);
  }

  /** Drops the owner's wishes that things have overtaken; those that stay. */
  #stillWanted(nodeId: number, takers: readonly number[]): PlannedMove[] {
    const ready = new Set(this.#catalog.nodes.readyIngesterIds());
    const own = [...this.#planned.values()].filter((wish) => wish.fromNodeId === nodeId);
    if (own.length === 0) return own;
    const drop = (wish: PlannedMove): void => void this.#planned.delete(wish.regionId);
    for (const wish of own) {
      const isOwner = this.#catalog.regions.find(wish.regionId)?.nodeId === nodeId;
      if (!isOwner || !ready.has(wish.toNodeId)) drop(wish);
    }
    const loads = this.#plannedLoads([nodeId, ...takers]);
    for (const wish of own) {
      if (!this.#planned.has(wish.regionId) || wish.isManual) continue;
      if (isNeedless(loads, wish)) {
        drop(wish);
        shift(loads, wish.toNodeId, wish.fromNodeId);
      }
    }
    return own.filter((wish) => this.#planned.has(wish.regionId));
  }

  /** Loads of the nodes as they will be when all wishes are done. */
  #plannedLoads(nodeIds: readonly number[]): Map<number, number> {
    const present = this.#catalog.regions.loads();
    const loads = new Map(nodeIds.map((nodeId) => [nodeId, present.get(nodeId) ?? 0]));
    for (const wish of this.#planned.values()) {
      if (loads.has(wish.fromNodeId)) shift(loads, wish.fromNodeId, wish.toNodeId);
    }
    return loads;
  }

  #plan(nodeId: number, loads: Map<number, number>, count: number): PlannedMove[] {
    const made: PlannedMove[] = [];
    const movable = this.#catalog.regions.ofNode(nodeId).filter((region) => this.#isMovable(region.regionId));
    while (made.length < count) {
      const toNodeId = takerFrom(loads, nodeId);
      if (toNodeId === 0 || movable.length === 0) break;
      const [{ regionId }] = movable.splice(this.#best(movable, toNodeId), 1);
      const wish = { regionId, fromNodeId: nodeId, toNodeId, isManual: false };
      this.#planned.set(regionId, wish);
      shift(loads, nodeId, toNodeId);
      made.push(wish);
    }
    return made;
  }

  /** Position of the region whose table the giver has most of, compared with the taker: one table's writes spread. */
  #best(movable: readonly RegionRecord[], toNodeId: number): number {
    const surplus = new Map<number, number>();
    const add = (tableId: number, by: number): void => void surplus.set(tableId, (surplus.get(tableId) ?? 0) + by);
    for (const { tableId } of movable) add(tableId, 1);
    for (const [tableId, regions] of this.#catalog.regions.tablesOf(toNodeId)) add(tableId, -regions);
    let best = 0;
    for (const [index, { tableId }] of movable.entries()) {
      if ((surplus.get(tableId) ?? 0) > (surplus.get(movable[best].tableId) ?? 0)) best = index;
    }
    return best;
  }

  #isMovable(regionId: number): boolean {
    if (this.#planned.has(regionId)) return false;
    const untilMs = this.#pinnedUntilMs.get(regionId);
    if (untilMs === undefined) return true;
    if (untilMs > this.#catalog.clock.monotonicMs()) return false;
    this.#pinnedUntilMs.delete(regionId);
    return true;
  }

  #pin(regionId: number): void {
    this.#pinnedUntilMs.set(regionId, this.#catalog.clock.monotonicMs() + PIN_MS);
  }
}

/** Who shall get a region of an owner; 0 if the owner has none to give. */
function takerFrom(loads: ReadonlyMap<number, number>, nodeId: number): number {
  let total = 0;
  let greatest = 0;
  let taker = 0;
  let least = Infinity;
  for (const [id, load] of loads) {
    total += load;
    greatest = Math.max(greatest, load);
    if (load >= least) continue;
    taker = id;
    least = load;
  }
  const own = loads.get(nodeId) ?? 0;
  const floor = Math.floor(total / loads.size);
  const ceiling = Math.ceil(total / loads.size);
  // While others have more than their share, those who have theirs give nothing: no region moves twice.
  const hasExcess = own > ceiling || (own > floor && greatest <= ceiling);
  return hasExcess && own - least > 1 ? taker : 0;
}

/** Whether giver and taker of a planned move would be even enough without it, or the taker takes nothing now. */
function isNeedless(loads: ReadonlyMap<number, number>, { fromNodeId, toNodeId }: PlannedMove): boolean {
  const to = loads.get(toNodeId);
  if (to === undefined) return true;
  const from = loads.get(fromNodeId) ?? 0;
  return from + 1 - (to - 1) <= 1;
}

/** Counts one region at another node; nodes that are not looked at stay out of it. */
function shift(loads: Map<number, number>, fromNodeId: number, toNodeId: number): void {
  const from = loads.get(fromNodeId);
  const to = loads.get(toNodeId);
  if (from !== undefined) loads.set(fromNodeId, from - 1);
  if (to !== undefined) loads.set(toNodeId, to + 1);
}
