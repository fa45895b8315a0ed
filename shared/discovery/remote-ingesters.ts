import type { RegionInfo } from '#shared/contracts/gen/common';
import type { IngesterService } from '#shared/contracts/gen/ingester';
import type { NodeInfo } from '#shared/contracts/gen/metadata';
import { AlmanacError } from '#shared/errors/almanac-error';

import type { CatalogCache } from './catalog-cache.js';
import type { Ingesters } from './ingesters.js';

/** A service and the connection that it is called over. */
export interface Connected<S> {
  readonly service: S;
  close(): void;
}

/** Ingesters in other processes, found in the catalog and connected on first use. */
export class RemoteIngesters implements Ingesters {
  readonly #catalog: CatalogCache;
  readonly #connect: (addr: string, nodeId: number) => Connected<IngesterService>;
  readonly #connections = new Map<string, Connected<IngesterService>>();

  constructor(catalog: CatalogCache, connect: (addr: string, nodeId: number) => Connected<IngesterService>) {
    this.#catalog = catalog;
    this.#connect = connect;
  }

  ownerOf(region: RegionInfo): IngesterService {
    const node = region.nodeId === 0 ? undefined : this.#catalog.node(region.nodeId);
    if (node === undefined || node.addr === '') {
      throw new AlmanacError('region_not_ready', `region ${region.regionId} has no owner`, { retryAfterSeconds: 1 });
    }
    return this.#at(node);
  }

  isAway(nodeId: number): boolean {
    const node = this.#catalog.node(nodeId);
    return node === undefined || node.addr === '' || node.state === 'gone' || node.state === 'left';
  }

  close(): void {
    for (const connection of this.#connections.values()) connection.close();
    this.#connections.clear();
  }

  #at(node: NodeInfo): IngesterService {
    const { addr, nodeId } = node;
    const key = keyOf(node);
    let connection = this.#connections.get(key);
    if (connection === undefined) {
      this.#dropOthers();
      connection = this.#connect(addr, nodeId);
      this.#connections.set(key, connection);
    }
    return connection.service;
  }

  /** Closes connections to nodes that are gone or have a new address. */
  #dropOthers(): void {
    const present = new Set(this.#catalog.nodes().map(keyOf));
    for (const [key, connection] of this.#connections) {
      if (present.has(key)) continue;
      this.#connections.delete(key);
      connection.close();
    }
  }
}

/**
 * Errors name the node, so a node that has another's former address gets a new connection. So does one that registered
 * again: the old connection pauses between attempts, for seconds if the process was away for long.
 */
function keyOf({ addr, nodeId, registeredMs }: NodeInfo): string {
  return `${nodeId} ${addr} ${registeredMs}`;
}
