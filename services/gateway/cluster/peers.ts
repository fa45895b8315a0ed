import type { Call } from '#shared/contracts/call';
import type { AdminService } from '#shared/contracts/gen/admin';
import type { Table } from '#shared/contracts/gen/common';
import type { MetadataService, NodeInfo } from '#shared/contracts/gen/metadata';
import { AlmanacError } from '#shared/errors/almanac-error';

/** Node ID that stands for the metadata service, which has none. */
export const METADATA_ID = 0;

/** Another process of the cluster. */
export interface Peer {
  readonly info: NodeInfo;
  /** Connects at the first call; undefined if another process has the address now. */
  readonly admin: AdminService | undefined;
}

/** A connection to another process. */
export interface ConnectedAdmin {
  readonly service: AdminService;
  close(): void;
}

/** Dependencies of `Peers`. */
export interface PeersOptions {
  /** Returns all nodes of the cluster in the catalog. */
  readonly nodes: () => readonly NodeInfo[];
  /** Returns all tables in the catalog. */
  readonly tables: () => readonly Pick<Table, 'regions'>[];
  readonly metadata: Pick<MetadataService, 'listNodes'>;
  readonly metadataAddr: string;
  readonly connect: (addr: string) => ConnectedAdmin;
}

/** Connections to the processes of a cluster, for their status, metrics and configuration. */
export class Peers {
  readonly #options: PeersOptions;
  readonly #connections = new Map<string, ConnectedAdmin>();

  constructor(options: PeersOptions) {
    this.#options = options;
  }

  /** Returns the metadata service and all nodes by ID; from the catalog if the metadata service cannot be reached. */
  async list(call: Call): Promise<readonly Peer[]> {
    const infos = await this.#infos(call);
    this.#closeAllBut(new Set(infos.map(({ addr }) => addr)));
    const owners = addressOwners(infos);
    const peers = infos.filter(({ addr }) => addr !== '').map((info) => this.#peer(info, owners));
    return peers.sort((a, b) => a.info.nodeId - b.info.nodeId);
  }

  /** Returns the process with this node ID, if the catalog has its address. */
  find(nodeId: number): Peer | undefined {
    const infos = [this.#metadataInfo(), ...this.#options.nodes()];
    const info = infos.find((candidate) => candidate.nodeId === nodeId && candidate.addr !== '');
    return info === undefined ? undefined : this.#peer(info, addressOwners(infos));
  }

  close(): void {
    this.#closeAllBut(new Set());
  }

  /** Counts of regions come from the metadata service: in the catalog they date from the last state change of a node. */
  async #infos(call: Call): Promise<NodeInfo[]> {
    const { metadata, nodes } = this.#options;
    try {
      const listed = await metadata.listNodes({}, call);
      return [this.#metadataInfo(), ...listed.nodes];
    } catch (error) {
      if (!AlmanacError.from(error).retry) throw error;
      const counts = this.#regionCounts();
      return [this.#metadataInfo(), ...nodes().map((node) => ({ ...node, regionCount: counts.get(node.nodeId) ?? 0 }))];
    }
  }

  /** Counts regions by owner in the catalog. */
  #regionCounts(): ReadonlyMap<number, number> {
    const counts = new Map<number, number>();
    for (const { regions } of this.#options.tables()) {
      for (const { nodeId } of regions) counts.set(nodeId, (counts.get(nodeId) ?? 0) + 1);
    }
    return counts;
  }

  #metadataInfo(): NodeInfo {
    const unknown = { version: '', registeredMs: 0, state: 'unknown', slot: '', regionCount: 0 };
    return { nodeId: METADATA_ID, role: 'metadata', addr: this.#options.metadataAddr, ...unknown };
  }

  #peer(info: NodeInfo, owners: ReadonlyMap<string, NodeInfo>): Peer {
    if (owners.get(info.addr) !== info) return { info, admin: undefined };
    let connection = this.#connections.get(info.addr);
    if (connection === undefined) {
      connection = this.#options.connect(info.addr);
      this.#connections.set(info.addr, connection);
    }
    return { info, admin: connection.service };
  }

  #closeAllBut(present: ReadonlySet<string>): void {
    for (const [addr, connection] of this.#connections) {
      if (present.has(addr)) continue;
      this.#connections.delete(addr);
      connection.close();
    }
  }
}

/** Returns the present owner of each address: addresses are reused, node IDs are not. */
function addressOwners(infos: readonly NodeInfo[]): ReadonlyMap<string, NodeInfo> {
  const owners = new Map<string, NodeInfo>();
  for (const info of infos) {
    // A standalone process that used the same data folder earlier has no address.
    if (info.addr === '') continue;
    const other = owners.get(info.addr);
    if (other === undefined || isLater(info, other)) owners.set(info.addr, info);
  }
  return owners;
}

function isLater(one: NodeInfo, other: NodeInfo): boolean {
  if (isAway(one) !== isAway(other)) return isAway(other);
  return one.registeredMs > other.registeredMs;
}

function isAway({ state }: NodeInfo): boolean {
  return state === 'gone' || state === 'left';
}
