import type { Call } from '#shared/contracts/call';
import type { AdminService } from '#shared/contracts/gen/admin';
import { AlmanacError } from '#shared/errors/almanac-error';
import type { ProfileWorker } from '#shared/profiling/profile-worker';

import { METADATA_ID, type Peer } from '../cluster/peers.js';
import { ALMANAC_ERRORS } from '../openapi/error-forms.js';
import type { RouteDoc, RouteGroup } from '../openapi/route-doc.js';
import type { QueryDeps } from '../query/query-route.js';
import type { ReadyGate } from '../ready-gate.js';
import type { Handler, RequestContext } from '../request-context.js';

/** What a process reports about itself. */
export type NodeAdmin = AdminService;

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
  readonly bodies: QueryDeps['bodies'];
  readonly profiles: Pick<ProfileWorker, 'run' | 'checkRoom'>;
}

/** One path of the administration. */
export interface AdminEndpoint {
  readonly methods: readonly ('GET' | 'POST')[];
  readonly path: string;
  readonly handler: (deps: AdminDeps) => Handler;
  readonly doc: RouteDoc;
}

/** Health, state and metrics. */
export const STATE_GROUP: RouteGroup = {
  name: 'State',
  description: 'Health, state, metrics and configuration.',
  page: 'http-api.md',
  errors: ALMANAC_ERRORS,
};
/** Profiles, log level and traces. */
export const DIAGNOSIS_GROUP: RouteGroup = {
  name: 'Diagnosis',
  description: 'Diagnosis of a running process.',
  page: 'diagnosis.md',
  errors: ALMANAC_ERRORS,
};

/** Longest time for the reply of the process that a request names. */
const REPLY_MS_MAX = 5_000;

/**
 * Calls the process that `?node=` names, or this one by default.
 *
 * @param call ends soon by default, for calls that take no time.
 * @throws `invalid_arguments` if there is no such node; `external` if it does not reply.
 */
export async function callNode<T>(
  context: RequestContext,
  deps: AdminDeps,
  run: (admin: NodeAdmin, call: Call) => Promise<T>,
  call: Call = deps.newCall(context.requestId, REPLY_MS_MAX),
): Promise<T> {
  const named = context.query.get('node');
  const own = await deps.admin.status({}, call);
  if (named === null || (named === String(own.nodeId) && own.nodeId !== 0)) return run(deps.admin, call);
  const nodeId = named === 'metadata' ? METADATA_ID : nodeIdOf(named);
  // A standalone process is its own metadata service.
  if (deps.peers === undefined && nodeId === METADATA_ID) return run(deps.admin, call);
  const peer = deps.peers?.find(nodeId);
  if (peer?.admin === undefined) throw new AlmanacError('invalid_arguments', `there is no node ${named}, see /status`);
  try {
    return await run(peer.admin, call);
  } catch (thrown) {
    const error = AlmanacError.from(thrown);
    if (error.code !== 'external' && error.code !== 'deadline_exceeded') throw error;
    const name = nodeId === METADATA_ID ? 'metadata' : `node ${nodeId} (${peer.info.role})`;
    throw new AlmanacError('external', `${name} at ${peer.info.addr} does not respond`, {
      cause: error,
      retryAfterSeconds: 1,
    });
  }
}

function nodeIdOf(text: string): number {
  if (/^[0-9]{1,9}$/.test(text)) return Number(text);
  throw new AlmanacError('invalid_arguments', `node "${text.slice(0, 60)}" is neither a number nor "metadata"`);
}
