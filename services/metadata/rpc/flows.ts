import type { Empty } from '#shared/contracts/gen/common';
import type {
  CommitFlowRequest,
  CreateFlowRequest,
  CreateFlowResponse,
  DropFlowRequest,
  DropFlowResponse,
  Flow,
  FlowLease,
  FlowSpec,
  GetFlowRequest,
  LeaseFlowsRequest,
  LeaseFlowsResponse,
  ListFlowChangesRequest,
  ListFlowChangesResponse,
  ListFlowsResponse,
  RequestFlowFlushRequest,
  RequestFlowFlushResponse,
} from '#shared/contracts/gen/metadata';
import { AlmanacError } from '#shared/errors/almanac-error';
import type { MetadataCatalog } from '../catalog.js';
import type { Cluster } from '../cluster.js';
import { sinkOf } from '../flow-leases.js';

const FLOWS_MAX = 1000;
const NAME_BYTES_MAX = 255;
const SPEC_CHARS_MAX = 256 * 1024;
const ERROR_CHARS_MAX = 500;

/**
 * Stores a flow, or replaces its definition.
 *
 * @throws `flow_already_exists`, `invalid_arguments`; `illegal_state` if the flow to be replaced writes to another database than
 *   the one for which the caller checked the rights.
 */
export function createFlow(catalog: MetadataCatalog, request: CreateFlowRequest): CreateFlowResponse {
  const { spec, orReplace, ifNotExists, positions, inputs } = request;
  if (spec === undefined) throw invalid('a flow needs a definition');
  checkSpec(spec);
  return catalog.change(() => {
    const existing = catalog.flows.find(spec.name);
    if (existing !== undefined && !orReplace) {
      if (ifNotExists) return { created: false, flowId: existing.flowId };
      throw new AlmanacError('flow_already_exists', `Flow already exists: ${spec.name}`);
    }
    if (existing !== undefined) checkReplaced(existing, request);
    const nowMs = catalog.clock.nowMs();
    const flowId = existing?.flowId ?? insertFlow(catalog, spec, nowMs);
    // Of two definitions in the same millisecond, the second one is the later one too.
    if (existing !== undefined) catalog.flows.replace(flowId, spec, Math.max(nowMs, existing.updatedMs + 1));
    if (positions.length > 0) catalog.flows.setPositions(flowId, positions);
    if (inputs !== undefined) catalog.flows.setInputs(flowId, inputs);
    return { created: true, flowId };
  });
}

function checkReplaced({ spec }: Flow, { replacedSinkDatabase }: CreateFlowRequest): void {
  if (spec?.sinkDatabase === replacedSinkDatabase) return;
  throw new AlmanacError('illegal_state', `flow "${spec?.name}" was changed at the same time: try again`);
}

function insertFlow(catalog: MetadataCatalog, spec: FlowSpec, nowMs: number): number {
  if (catalog.flows.count() >= FLOWS_MAX) throw invalid(`there are ${FLOWS_MAX} flows: drop some`);
  return catalog.flows.insert(spec, nowMs);
}

function checkSpec(spec: FlowSpec): void {
  if (spec.name === '' || Buffer.byteLength(spec.name) > NAME_BYTES_MAX) {
    throw invalid(`the name of a flow has 1 to ${NAME_BYTES_MAX} bytes`);
  }
  if (JSON.stringify(spec).length > SPEC_CHARS_MAX) {
    throw invalid(`flow "${spec.name}" is too long: its definition has at most ${SPEC_CHARS_MAX} characters`);
  }
}

/** Drops a flow; its sink stays. @throws `flow_not_found`. */
export function dropFlow(catalog: MetadataCatalog, { name, ifExists }: DropFlowRequest): DropFlowResponse {
  return catalog.change(() => {
    const flow = catalog.flows.find(name);
    if (flow === undefined && ifExists) return { dropped: false };
    if (flow === undefined) throw notFound(name);
    catalog.flows.delete(flow.flowId);
    return { dropped: true };
  });
}

/** Returns all flows by name, without positions. */
export function listFlows(catalog: MetadataCatalog, _request: Empty): ListFlowsResponse {
  return { flows: catalog.flows.list() };
}

/** Returns a flow with its positions. @throws `flow_not_found`. */
export function getFlow(catalog: MetadataCatalog, { flowId }: GetFlowRequest): Flow {
  const flow = catalog.flows.findById(flowId);
  if (flow === undefined) throw notFound(String(flowId));
  return { ...flow, positions: catalog.flows.positions(flowId) };
}

/** Renews the lease of a querier and returns its flows, after those without a live owner have got one. */
export function leaseFlows(cluster: Cluster, { nodeId, release }: LeaseFlowsRequest): LeaseFlowsResponse {
  const { catalog, flowLeases } = cluster;
  if (release) {
    flowLeases.release(nodeId);
    return { leases: [], leaseMs: flowLeases.leaseMs };
  }
  const { flows, changes } = flowLeases.assign(nodeId, catalog.flows.list(), catalog.nodes.list());
  if (changes.length > 0) {
    catalog.change(() => {
      for (const { flowId, nodeId: owner } of changes) catalog.flows.setOwner(flowId, owner);
    });
  }
  const moved = new Set(changes.map(({ flowId }) => flowId));
  const leases = flows.map((flow): FlowLease => {
    const { flowId, version, flushRequested, flushDone } = flow;
    const epoch = moved.has(flowId) ? flow.epoch + 1 : flow.epoch;
    return { flowId, version, epoch, flushRequested, flushDone, sink: sinkOf(flow) };
  });
  return { leases, leaseMs: flowLeases.leaseMs };
}

/** Returns the recorded changes of the sources of a flow. */
export function listFlowChanges(catalog: MetadataCatalog, { flowId }: ListFlowChangesRequest): ListFlowChangesResponse {
  return { changes: catalog.flows.changes(flowId) };
}

/** Records a run. @throws `illegal_state` if the flow has another owner or another definition, or was dropped. */
export function commitFlow(catalog: MetadataCatalog, request: CommitFlowRequest): Empty {
  const { flowId, version, epoch, positions, changeIds, runMs, inputs } = request;
  catalog.change(() => {
    const flow = catalog.flows.findById(flowId);
    if (flow?.version !== version || flow.epoch !== epoch) {
      throw new AlmanacError('illegal_state', `flow ${flowId} has another owner or definition, or was dropped`);
    }
    if (runMs === 0) for (const { regionId } of positions) catalog.flows.announce(flowId, regionId);
    else if (positions.length > 0) catalog.flows.setPositions(flowId, positions);
    for (const changeId of changeIds) catalog.flows.deleteChange(flowId, changeId);
    const error = request.error.slice(0, ERROR_CHARS_MAX);
    if (runMs !== 0) catalog.flows.setOutcome({ ...request, error });
    if (runMs !== 0 && error === '' && inputs !== undefined) catalog.flows.setInputs(flowId, inputs);
  });
  return {};
}

/** Requests a run of a flow now. @throws `flow_not_found`. */
export function requestFlowFlush(
  catalog: MetadataCatalog,
  { name }: RequestFlowFlushRequest,
): RequestFlowFlushResponse {
  return catalog.change(() => {
    const flow = catalog.flows.find(name);
    if (flow === undefined) throw notFound(name);
    return { flowId: flow.flowId, ticket: catalog.flows.requestFlush(flow.flowId) };
  });
}

function notFound(name: string): AlmanacError {
  return new AlmanacError('flow_not_found', `Flow not found: ${name}`);
}

function invalid(text: string): AlmanacError {
  return new AlmanacError('invalid_arguments', text);
}
