import type { MetadataCatalog } from './catalog.js';

/** Assigns regions to ready nodes, each to the one that owns the fewest at that time. */
export class Placement {
  readonly #loads: Map<number, number>;

  constructor(catalog: MetadataCatalog) {
    const present = catalog.regions.loads();
    this.#loads = new Map(catalog.nodes.readyOwnerIds().map((nodeId) => [nodeId, present.get(nodeId) ?? 0]));
  }

  /** Returns the owner for one more region; 0 if no node is ready. */
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
   * Returns the owners for a new table's regions: the least loaded nodes first, but round robin, so that writes to one
   * table spread even if the load does not.
   */
  spread(count: number): number[] {
    const nodeIds = [...this.#loads].sort(([a, loadA], [b, loadB]) => loadA - loadB || a - b).map(([nodeId]) => nodeId);
    return Array.from({ length: count }, (_, index) => (nodeIds.length === 0 ? 0 : nodeIds[index % nodeIds.length]));
  }
}
