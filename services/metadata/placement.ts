import type { MetadataCatalog } from './catalog.js';

/** Hands out regions to nodes that are ready, each to the one that owns the fewest then. */
export class Placement {
  readonly #loads: Map<number, number>;

  constructor(catalog: MetadataCatalog) {
    const present = catalog.regions.loads();
    this.#loads = new Map(catalog.nodes.readyOwnerIds().map((nodeId) => [nodeId, present.get(nodeId) ?? 0]));
  }

  /** The owner of one more region; 0 if no node is ready. */
  next(): number {
    let best = 0;
    let least = Infinity;
    for (const [nodeId, load] of this.#loads) {
      if (load >= least) continue;
      best = nodeId;
      least = load;
    }
    if (best !== 0) this.#loads.set(best, least + 1);
    return best;
  }

  /**
   * The owners of a new table's regions: nodes with the least first, but each in turn, so that one table's writes spread
   * also while the load does not.
   */
  spread(count: number): number[] {
    const nodeIds = [...this.#loads].sort(([a, loadA], [b, loadB]) => loadA - loadB || a - b).map(([nodeId]) => nodeId);
    return Array.from({ length: count }, (_, index) => (nodeIds.length === 0 ? 0 : nodeIds[index % nodeIds.length]));
  }
}
