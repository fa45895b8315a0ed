import type { Call } from '#shared/contracts/call';
import type { AdminService } from '#shared/contracts/gen/admin';

import type { Peer } from '../cluster/peers.js';
import type { Handler } from '../request-context.js';

/** Whether the node can do its work, and if not, what it waits for. */
export interface Readiness {
  /** Stays true while the node drains: it still does its work. */
  readonly ready: boolean;
  /** Whether the node is about to end. */
  readonly isDraining?: boolean;
  /** In words: `wal replay`. */
  readonly waiting: readonly string[];
  /** Share of the start that is done, 0 to 1. */
  readonly progress: number;
}

/** What a process tells about itself. */
export type NodeAdmin = Pick<AdminService, 'status' | 'metrics' | 'config'>;

/** The processes of a cluster. */
export interface PeerDirectory {
  /** All of them, this one among them once it is known. */
  list(call: Call): Promise<readonly Peer[]>;
  find(nodeId: number): Peer | undefined;
}

export interface AdminDeps {
  /** This process. */
  readonly admin: NodeAdmin;
  /** Undefined where one process is everything. */
  readonly peers: PeerDirectory | undefined;
  readonly readiness: () => Readiness;
  /** Roles that writes and queries need and nobody who is ready has. */
  readonly lackingRoles: () => readonly string[];
  readonly isDraining: () => boolean;
  readonly newCall: (requestId: string, timeoutMs: number) => Call;
  readonly nowMs: () => number;
  readonly dashboardUrl: string | undefined;
  readonly version: string;
}

/** One path of the administration. */
export interface AdminEndpoint {
  readonly methods: readonly ('GET' | 'POST')[];
  readonly path: string;
  readonly handler: (deps: AdminDeps) => Handler;
}
