import type { RegionInfo } from '#shared/contracts/gen/common';
import type { IngesterService } from '#shared/contracts/gen/ingester';
import { AlmanacError } from '#shared/errors/almanac-error';

import type { CatalogCache } from './catalog-cache.js';
import type { Ingesters } from './ingesters.js';

/** A service behind a connection. */
export interface Connected<S> {
  readonly service: S;
  close(): void;
}

/** Ingesters in processes of their own, found by the catalog and connected to at first use. */
export class RemoteIngesters implements Ingesters {
  readonly #catalog: CatalogCache;
  readonly #connect: (addr: string) => Connected<IngesterService>;
  readonly #connections = new Map<string, Connected<IngesterService>>();

  constructor(catalog: CatalogCache, connect: (addr: string) => Connected<IngesterService>) {
    this.#catalog = catalog;
    this.#connect = connect;
  }

  ownerOf(region: RegionInfo): IngesterService {
    const node = region.nodeId === 0 ? undefined : this.#catalog.node(region.nodeId);
    if (node === undefined || node.addr === '') {
      throw new AlmanacError('region_not_ready', `region ${region.regionId} has no owner`, { retryAfterSeconds: 1 });
    }
    return this.#at(node.addr);
  }

  close(): void {
    for (const connection of this.#connections.values()) connection.close();
    this.#connections.clear();
  }

  #at(addr: string): IngesterService {
    let connection = this.#connections.get(addr);
    if (connection === undefined) {
      this.#dropOthers();
      connection = this.#connect(addr);
      this.#connections.set(addr, connection);
    }
    return connection.service;
  }

  /** Nodes come and go, each with an address of its own. */
  #dropOthers(): void {
    const present = new Set(this.#catalog.nodes().map(({ addr }) => addr));
    for (const [addr, connection] of this.#connections) {
      if (present.has(addr)) continue;
      this.#connections.delete(addr);
      connection.close();
    }
  }
}
