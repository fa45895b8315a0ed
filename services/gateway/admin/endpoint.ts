import type { Call } from '#shared/contracts/call';
import type { AdminService } from '#shared/contracts/gen/admin';

import type { Peer } from '../cluster/peers.js';
import type { ReadyGate } from '../ready-gate.js';
import type { Handler } from '../request-context.js';

/** What a process reports about itself. */
export type NodeAdmin = Pick<AdminService, 'status' | 'metrics' | 'config'>;

/** The processes of a cluster. */
export interface PeerDirectory {
  /** Returns all processes, among them this one once it is registered. */
  list(call: Call): Promise<readonly Peer[]>;
  find(nodeId: number): Peer | undefined;
}

/** Dependencies of the administration. */
export interface AdminDeps {
  /** This process. */
  readonly admin: NodeAdmin;
  /** Undefined in a standalone process. */
  readonly peers: PeerDirectory | undefined;
  readonly gate: ReadyGate;
  /** Roles that writes and queries need and that no ready process has. */
  readonly lackingRoles: () => readonly string[];
  readonly newCall: (requestId: string, timeoutMs: number) => Call;
  readonly nowMs: () => number;
  /** Undefined if the dashboard is turned off. */
  readonly dashboardUrl: string | undefined;
  readonly version: string;
}

/** One path of the administration. */
export interface AdminEndpoint {
  readonly methods: readonly ('GET' | 'POST')[];
  readonly path: string;
  readonly handler: (deps: AdminDeps) => Handler;
}
