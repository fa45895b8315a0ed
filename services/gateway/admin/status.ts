import type { StatusResponse } from '#shared/contracts/gen/admin';
import { AlmanacError } from '#shared/errors/almanac-error';

import { NODE_PARAMETER } from '../openapi/parameters.js';
import { componentOf, FLAG, jsonDoc, listOf, NUMBER, objectOf, TEXT, TIME_TEXT, WHOLE } from '../openapi/schemas.js';
import { jsonReply, send } from '../reply.js';
import type { Peer } from '../cluster/peers.js';
import { storageJson, totalStorage } from '../cluster/storage.js';
import { callNode, STATE_GROUP, type AdminDeps, type AdminEndpoint } from './endpoint.js';

/** Longest time for the replies of all nodes of a cluster, which are called at once. */
const PEERS_MS_MAX = 1_000;
const WITH_STORAGE = { storage: true };

const STORAGE = componentOf('Storage', { type: 'object', additionalProperties: WHOLE });
const START = { 'waiting?': listOf(TEXT), 'progress?': NUMBER, 'storage?': STORAGE };
const NODE = objectOf({
  role: TEXT,
  node_id: WHOLE,
  addr: TEXT,
  version: TEXT,
  state: TEXT,
  reachable: FLAG,
  'region_count?': WHOLE,
  'hostname?': TEXT,
  'uptime_seconds?': WHOLE,
  'start_time?': TIME_TEXT,
  ...START,
});
const STATUS = objectOf({
  commit: TEXT,
  branch: TEXT,
  node_version: TEXT,
  hostname: TEXT,
  version: TEXT,
  role: TEXT,
  node_id: WHOLE,
  state: TEXT,
  uptime_seconds: WHOLE,
  start_time: TIME_TEXT,
  ...START,
  'cluster?': listOf(NODE),
});

/** Reports version, start and state of this process, and of all processes of a cluster. */
export const statusEndpoint: AdminEndpoint = {
  methods: ['GET'],
  path: '/status',
  doc: {
    group: STATE_GROUP,
    summary: 'Reports version, start, state and storage of a process, and of all processes of a cluster',
    parameters: [NODE_PARAMETER],
    replies: { 200: jsonDoc('The state.', STATUS) },
    example: {},
  },
  handler: (deps) => async (context) => {
    const node = await callNode(context, deps, (admin, call) => admin.status(WITH_STORAGE, call));
    const own = {
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
    if (context.query.has('node')) return send(context, jsonReply(200, { ...own, ...storageOf([node]) }));
    const nodes = await cluster(node, deps, context.requestId);
    const storage = storageOf(nodes.map(({ status }) => status));
    send(context, jsonReply(200, { ...own, ...storage, cluster: nodes.map(({ entry }) => entry) }));
  },
};

/** One process of a cluster, and its status if it replied. */
interface ClusterNodeStatus {
  readonly entry: ClusterEntry;
  readonly status: StatusResponse | undefined;
}

/** One process of a cluster. Members that only the process itself knows are missing if it does not reply. */
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
  readonly storage?: Readonly<Record<string, number>>;
}

async function cluster(own: StatusResponse, deps: AdminDeps, requestId: string): Promise<ClusterNodeStatus[]> {
  const call = deps.newCall(requestId, PEERS_MS_MAX);
  const peers = (await deps.peers?.list(call)) ?? [];
  const entries = await Promise.all(
    peers.map(async (peer) => {
      const status = await statusOf(peer, own, deps, requestId);
      return { status, entry: entryOf(peer, status, deps.nowMs()) };
    }),
  );
  if (entries.some(({ entry }) => entry.node_id === own.nodeId && entry.role === own.role)) return entries;
  // A standalone process, or one that is not registered yet.
  return [...entries, { status: own, entry: { ...knownEntry(own, own.hostname), ...ownFacts(own, deps.nowMs()) } }];
}

/** Returns the status of a process; undefined if it does not reply in time. */
async function statusOf(
  { info, admin }: Peer,
  own: StatusResponse,
  deps: AdminDeps,
  requestId: string,
): Promise<StatusResponse | undefined> {
  if (info.nodeId === own.nodeId && info.role === own.role) return own;
  if (info.state === 'left' || admin === undefined) return undefined;
  try {
    return await admin.status(WITH_STORAGE, deps.newCall(requestId, PEERS_MS_MAX));
  } catch (error) {
    if (AlmanacError.from(error).retry) return undefined;
    throw error;
  }
}

function entryOf({ info }: Peer, status: StatusResponse | undefined, nowMs: number): ClusterEntry {
  const regionCount = info.role === 'ingester' ? { region_count: info.regionCount } : {};
  if (status === undefined) return { ...knownEntry(info, info.addr), reachable: false, ...regionCount };
  // The catalog has the state of all nodes but the metadata service.
  const state = info.role === 'metadata' ? status.state : info.state;
  const known = knownEntry({ ...info, version: status.version, state }, info.addr);
  return { ...known, ...regionCount, ...ownFacts(status, nowMs) };
}

interface KnownNode {
  readonly role: string;
  readonly nodeId: number;
  readonly version: string;
  readonly state: string;
}

function knownEntry({ role, nodeId, version, state }: KnownNode, addr: string): ClusterEntry {
  return { role, node_id: nodeId, addr, version, state, reachable: true };
}

function ownFacts(status: StatusResponse, nowMs: number) {
  return { hostname: status.hostname, ...timesOf(status, nowMs), ...startOf(status), ...storageOf([status]) };
}

/** Returns the member `storage`; none if no process stores something. */
function storageOf(statuses: readonly (StatusResponse | undefined)[]) {
  const parts = statuses.flatMap((status) => status?.storage ?? []);
  return parts.length === 0 ? {} : { storage: storageJson(totalStorage(parts)) };
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
