import type { MetadataCatalog } from './catalog.js';
import type { Leases } from './leases.js';
import type { RegionRecord } from './store/regions.js';

/** Regions that one owner hands over at a time, so that most of its tables accept writes meanwhile. */
const MOVES_AT_ONCE = 8;
/** Time for which a node must be ready before it gets regions of others: it may fail at once. */
const TAKER_AFTER_MS = 2_000;
/** Time for which the rebalancer leaves a region where an operator moved it. */
const PIN_MS = 60_000;

interface PlannedMove {
  readonly regionId: number;
  readonly fromNodeId: number;
  readonly toNodeId: number;
  readonly isManual: boolean;
}

/**
 * Moves of regions that are planned, by an operator or to balance the load.
 *
 * In memory only: after a restart the load is as uneven as before, and the same moves are planned again.
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

  /** Plans an operator's move, which replaces an earlier plan. */
  request({ regionId, nodeId }: RegionRecord, toNodeId: number): void {
    this.#planned.delete(regionId);
    if (nodeId === toNodeId) this.#pin(regionId);
    else this.#planned.set(regionId, { regionId, fromNodeId: nodeId, toNodeId, isManual: true });
  }

  /** Returns the node that the region should move to; 0: none. */
  targetOf(regionId: number): number {
    return this.#planned.get(regionId)?.toNodeId ?? 0;
  }

  /** Completes a plan: the region has a new grant. */
  granted(regionId: number, nodeId: number): void {
    const wish = this.#planned.get(regionId);
    this.#planned.delete(regionId);
    if (wish?.isManual === true && wish.toNodeId === nodeId) this.#pin(regionId);
  }

  /** Cancels the moves from and to a node that left. */
  removeNode(nodeId: number): void {
    for (const wish of this.#planned.values()) {
      if (wish.fromNodeId === nodeId || wish.toNodeId === nodeId) this.#planned.delete(wish.regionId);
    }
  }

  /** Returns the regions that a ready ingester should seal now, an operator's first. */
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

  /** Cancels the owner's obsolete moves, and returns the others. */
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

  /** Returns the number of regions per node once all planned moves are done. */
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

  /**
   * Returns the index of the region whose table the giver has most of, compared with the taker, so that writes to one
   * table spread.
   */
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

/** Returns the node that should get a region of an owner; 0 if the owner has none to give. */
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
  // While others are above their share, nodes at their share give nothing, so that no region moves twice.
  const hasExcess = own > ceiling || (own > floor && greatest <= ceiling);
  return hasExcess && own - least > 1 ? taker : 0;
}

/** Returns whether the load would be even enough without the move, or the taker is not available. */
function isNeedless(loads: ReadonlyMap<number, number>, { fromNodeId, toNodeId }: PlannedMove): boolean {
  const to = loads.get(toNodeId);
  if (to === undefined) return true;
  const from = loads.get(fromNodeId) ?? 0;
  return from + 1 - (to - 1) <= 1;
}

/** Counts one region at another node; nodes outside of the map are ignored. */
function shift(loads: Map<number, number>, fromNodeId: number, toNodeId: number): void {
  const from = loads.get(fromNodeId);
  const to = loads.get(toNodeId);
  if (from !== undefined) loads.set(fromNodeId, from - 1);
  if (to !== undefined) loads.set(toNodeId, to + 1);
}
