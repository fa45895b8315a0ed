import type { Catalog } from './catalog.js';

/** The node that a new region goes to: the one that owns the fewest; 0 if there is none. */
export function leastLoadedNode(catalog: Catalog): number {
  let best = 0;
  let bestLoad = Infinity;
  for (const nodeId of catalog.nodes.ownerIds()) {
    const load = catalog.regions.load(nodeId);
    if (load < bestLoad) {
      best = nodeId;
      bestLoad = load;
    }
  }
  return best;
}
