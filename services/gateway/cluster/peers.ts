import type { Call } from '#shared/contracts/call';
import type { AdminService } from '#shared/contracts/gen/admin';
import type { Table } from '#shared/contracts/gen/common';
import type { MetadataService, NodeInfo } from '#shared/contracts/gen/metadata';
import { AlmanacError } from '#shared/errors/almanac-error';

/** The number under which metadata, which has none, is asked for. */
export const METADATA_ID = 0;

/** Another process of the cluster. */
export interface Peer {
  readonly info: NodeInfo;
  /** Connected at its first call; undefined if another process has its address now. */
  readonly admin: AdminService | undefined;
}

/** Another process behind a connection. */
export interface ConnectedAdmin {
  readonly service: AdminService;
  close(): void;
}

export interface PeersOptions {
  /** All nodes of the cluster, as the catalog knows them. */
  readonly nodes: () => readonly NodeInfo[];
  /** All tables, as the catalog knows them. */
  readonly tables: () => readonly Pick<Table, 'regions'>[];
  readonly metadata: Pick<MetadataService, 'listNodes'>;
  readonly metadataAddr: string;
  readonly connect: (addr: string) => ConnectedAdmin;
}

/** The processes of a cluster, to be asked about themselves. */
export class Peers {
  readonly #options: PeersOptions;
  readonly #connections = new Map<string, ConnectedAdmin>();

  constructor(options: PeersOptions) {
    this.#options = options;
  }

  /** Metadata and all nodes, by number. Without metadata it is what the catalog remembers of them. */
  async list(call: Call): Promise<readonly Peer[]> {
    const infos = await this.#infos(call);
    this.#forgetAllBut(new Set(infos.map(({ addr }) => addr)));
    const owners = addressOwners(infos);
    const peers = infos.filter(({ addr }) => addr !== '').map((info) => this.#peer(info, owners));
    return peers.sort((a, b) => a.info.nodeId - b.info.nodeId);
  }

  /** The process with this number, if the catalog knows one and where it is. */
  find(nodeId: number): Peer | undefined {
    const infos = [this.#metadataInfo(), ...this.#options.nodes()];
    const info = infos.find((candidate) => candidate.nodeId === nodeId && candidate.addr !== '');
    return info === undefined ? undefined : this.#peer(info, addressOwners(infos));
  }

  close(): void {
    this.#forgetAllBut(new Set());
  }

  /** Counts of regions are metadata's: those of the catalog are as old as a node's last change of state. */
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

  /** Who owned what when metadata was last heard of. */
  #regionCounts(): ReadonlyMap<number, number> {
    const counts = new Map<number, number>();
    for (const { regions } of this.#options.tables()) {
      for (const { nodeId } of regions) counts.set(nodeId, (counts.get(nodeId) ?? 0) + 1);
    }
    return counts;
  }

  #metadataInfo(): NodeInfo {
    const nothing = { version: '', registeredMs: 0, state: 'unknown', slot: '', regionCount: 0 };
    return { nodeId: METADATA_ID, role: 'metadata', addr: this.#options.metadataAddr, ...nothing };
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

  #forgetAllBut(present: ReadonlySet<string>): void {
    for (const [addr, connection] of this.#connections) {
      if (present.has(addr)) continue;
      this.#connections.delete(addr);
      connection.close();
    }
  }
}

/** Whose an address is now, of all that ever had it: an address is used again, a number is not. */
function addressOwners(infos: readonly NodeInfo[]): ReadonlyMap<string, NodeInfo> {
  const owners = new Map<string, NodeInfo>();
  for (const info of infos) {
    // A standalone process that had the folder before has no address.
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
