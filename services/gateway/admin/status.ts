import type { StatusResponse } from '#shared/contracts/gen/admin';
import { AlmanacError } from '#shared/errors/almanac-error';

import { sendJson } from '../answer.js';
import type { Peer } from '../cluster/peers.js';
import { askNode } from '../cluster/ask-node.js';
import type { AdminDeps, AdminEndpoint } from './endpoint.js';

/** How long the nodes of a cluster, all asked at once, may take to answer. */
const PEERS_MS_MAX = 1_000;

/** What runs here, since when, and in which state; of a cluster, all its processes. */
export const status: AdminEndpoint = {
  methods: ['GET'],
  path: '/status',
  handler: (deps) => async (context) => {
    const node = await askNode(context, deps, (admin, call) => admin.status({}, call));
    const answer = {
      commit: node.commit,
      branch: node.branch,
      node_version: node.nodeVersion,
      hostname: node.hostname,
      version: node.version,
      role: node.role,
      node_id: node.nodeId,
      state: node.state,
      ...timesOf(node, deps.nowMs()),
      ...startOf(node),
    };
    if (context.query.has('node')) sendJson(context, 200, answer);
    else sendJson(context, 200, { ...answer, cluster: await cluster(node, deps, context.requestId) });
  },
};

/** One process in the list of all. Members that only the process itself knows are missing if it does not answer. */
interface ClusterEntry {
  readonly role: string;
  readonly node_id: number;
  readonly addr: string;
  readonly version: string;
  readonly state: string;
  readonly reachable: boolean;
  readonly region_count?: number;
  readonly hostname?: string;
  readonly uptime_seconds?: number;
  readonly start_time?: string;
  readonly waiting?: readonly string[];
  readonly progress?: number;
}

async function cluster(own: StatusResponse, deps: AdminDeps, requestId: string): Promise<ClusterEntry[]> {
  const call = deps.newCall(requestId, PEERS_MS_MAX);
  const peers = (await deps.peers?.list(call)) ?? [];
  const entries = await Promise.all(
    peers.map(async (peer) => entryOf(peer, await statusOf(peer, own, deps, requestId), deps.nowMs())),
  );
  if (entries.some((entry) => entry.node_id === own.nodeId && entry.role === own.role)) return entries;
  // A process that is alone, or that its cluster does not know yet.
  return [...entries, { ...knownEntry(own, own.hostname), ...ownFacts(own, deps.nowMs()) }];
}

/** What the process says, or undefined if it does not answer in time. */
async function statusOf(
  { info, admin }: Peer,
  own: StatusResponse,
  deps: AdminDeps,
  requestId: string,
): Promise<StatusResponse | undefined> {
  if (info.nodeId === own.nodeId && info.role === own.role) return own;
  if (info.state === 'left' || admin === undefined) return undefined;
  try {
    return await admin.status({}, deps.newCall(requestId, PEERS_MS_MAX));
  } catch (error) {
    if (AlmanacError.from(error).retry) return undefined;
    throw error;
  }
}

function entryOf({ info }: Peer, told: StatusResponse | undefined, nowMs: number): ClusterEntry {
  const regionCount = info.role === 'ingester' ? { region_count: info.regionCount } : {};
  if (told === undefined) return { ...knownEntry(info, info.addr), reachable: false, ...regionCount };
  // Whether a node has its place in the cluster is for the catalog to say; metadata is not in it.
  const state = info.role === 'metadata' ? told.state : info.state;
  const known = knownEntry({ ...info, version: told.version, state }, info.addr);
  return { ...known, ...regionCount, ...ownFacts(told, nowMs) };
}

interface Known {
  readonly role: string;
  readonly nodeId: number;
  readonly version: string;
  readonly state: string;
}

function knownEntry({ role, nodeId, version, state }: Known, addr: string): ClusterEntry {
  return { role, node_id: nodeId, addr, version, state, reachable: true };
}

function ownFacts(told: StatusResponse, nowMs: number) {
  return { hostname: told.hostname, ...timesOf(told, nowMs), ...startOf(told) };
}

function timesOf({ startedMs }: StatusResponse, nowMs: number) {
  return {
    uptime_seconds: Math.max(0, Math.floor((nowMs - startedMs) / 1_000)),
    start_time: new Date(startedMs).toISOString(),
  };
}

function startOf({ state, waiting, progress }: StatusResponse) {
  return state === 'starting' ? { waiting, progress } : {};
}
