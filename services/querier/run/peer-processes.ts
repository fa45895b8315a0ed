import type { NodeInfo } from '#shared/contracts/gen/metadata';
import type { ProcessesService } from '#shared/contracts/gen/processes';

/** A connection to the processes of another querier. */
export interface ConnectedProcesses {
  readonly service: ProcessesService;
  close(): void;
}

/** Dependencies of `PeerProcesses`. */
export interface PeerProcessesOptions {
  readonly ownNodeId: number;
  /** Returns all nodes of the cluster. */
  readonly nodes: () => readonly NodeInfo[];
  readonly connect: (addr: string) => ConnectedProcesses;
}

/** The other queriers of the cluster that run, connected on first use. */
export class PeerProcesses {
  readonly #options: PeerProcessesOptions;
  readonly #connections = new Map<string, ConnectedProcesses>();

  constructor(options: PeerProcessesOptions) {
    this.#options = options;
  }

  /** Returns the processes of every other querier that is ready or drains. */
  services(): readonly ProcessesService[] {
    const { ownNodeId, nodes } = this.#options;
    const isRunning = ({ role, state, addr, nodeId }: NodeInfo): boolean =>
      role === 'querier' && nodeId !== ownNodeId && addr !== '' && (state === 'ready' || state === 'draining');
    const addrs = new Set(
      nodes()
        .filter(isRunning)
        .map(({ addr }) => addr),
    );
    for (const [addr, connection] of this.#connections) {
      if (addrs.has(addr)) continue;
      this.#connections.delete(addr);
      connection.close();
    }
    return [...addrs].map((addr) => this.#connectionTo(addr).service);
  }

  close(): void {
    for (const connection of this.#connections.values()) connection.close();
    this.#connections.clear();
  }

  #connectionTo(addr: string): ConnectedProcesses {
    const known = this.#connections.get(addr) ?? this.#options.connect(addr);
    this.#connections.set(addr, known);
    return known;
  }
}
