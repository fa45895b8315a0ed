import type { Clock } from '#shared/clock/clock';
import type { Flow } from '#shared/contracts/gen/metadata';
import type { NodeRecord } from './store/nodes.js';

/** Owners that flows get, and the flows of a querier afterwards. */
export interface FlowAssignment {
  readonly flows: readonly Flow[];
  readonly changes: readonly { readonly flowId: number; readonly nodeId: number }[];
}

/**
 * Last request of each querier for its flows. In memory only: after a restart every owner has a fresh lease, so that no
 * flow is given to another querier while its owner may still write.
 */
export class FlowLeases {
  readonly leaseMs: number;
  readonly #clock: Clock;
  readonly #startedMs: number;
  readonly #heardMs = new Map<number, number>();
  /** By sink: the querier that last owned a flow into it, which may still be writing. */
  readonly #writers = new Map<string, number>();

  constructor(leaseMs: number, clock: Clock) {
    this.leaseMs = leaseMs;
    this.#clock = clock;
    this.#startedMs = clock.monotonicMs();
  }

  /**
   * Renews the lease of a querier. A flow without a live owner goes to the last writer of its sink, which runs the flows of
   * a sink one after the other, or else to the live querier with the fewest flows.
   */
  assign(nodeId: number, flows: readonly Flow[], nodes: readonly NodeRecord[]): FlowAssignment {
    this.#heardMs.set(nodeId, this.#clock.monotonicMs());
    const candidates = nodes.filter((node) => isCandidate(node)).map((node) => node.nodeId);
    for (const known of this.#heardMs.keys()) if (!nodes.some((node) => node.nodeId === known)) this.#forget(known);
    const live = candidates.filter((id) => this.#isHeard(id));
    const counts = new Map(live.map((id) => [id, 0]));
    for (const flow of flows) counts.set(flow.nodeId, (counts.get(flow.nodeId) ?? 0) + 1);
    const changes: { flowId: number; nodeId: number }[] = [];
    const own: Flow[] = [];
    for (const flow of flows) {
      const owner = this.#holds(flow.nodeId) ? flow.nodeId : this.#chosen(flow, live, counts);
      if (owner !== undefined && owner !== flow.nodeId) {
        changes.push({ flowId: flow.flowId, nodeId: owner });
        counts.set(owner, (counts.get(owner) ?? 0) + 1);
      }
      if (owner !== undefined) this.#writers.set(sinkOf(flow), owner);
      if (owner === nodeId) own.push(flow);
    }
    this.#dropWriters(flows);
    return { flows: own, changes };
  }

  /** Ends the lease of a querier that has stopped. */
  release(nodeId: number): void {
    this.#heardMs.set(nodeId, -Infinity);
  }

  #chosen(flow: Flow, live: readonly number[], counts: ReadonlyMap<number, number>): number | undefined {
    const writer = this.#writers.get(sinkOf(flow));
    if (writer !== undefined && this.#holds(writer)) return live.includes(writer) ? writer : undefined;
    return [...live].sort((a, b) => (counts.get(a) ?? 0) - (counts.get(b) ?? 0) || a - b).at(0);
  }

  /** Whether a querier may still write: its lease, or the one that a restart of this process gave it, has not ended. */
  #holds(nodeId: number): boolean {
    return nodeId !== 0 && this.#clock.monotonicMs() - (this.#heardMs.get(nodeId) ?? this.#startedMs) <= this.leaseMs;
  }

  #isHeard(nodeId: number): boolean {
    return this.#heardMs.has(nodeId) && this.#holds(nodeId);
  }

  #forget(nodeId: number): void {
    if (!this.#holds(nodeId)) this.#heardMs.delete(nodeId);
  }

  #dropWriters(flows: readonly Flow[]): void {
    const sinks = new Set(flows.map(sinkOf));
    for (const [sink, nodeId] of this.#writers) {
      if (!sinks.has(sink) && !this.#holds(nodeId)) this.#writers.delete(sink);
    }
    // A live querier with many dropped flows is remembered for few of them: only recent ones may still be written.
    while (this.#writers.size > flows.length + WRITERS_MAX) {
      const oldest = [...this.#writers.keys()].find((sink) => !sinks.has(sink));
      if (oldest === undefined) return;
      this.#writers.delete(oldest);
    }
  }
}

/** Sinks of dropped flows that are remembered. */
const WRITERS_MAX = 1000;

function isCandidate({ role, state }: NodeRecord): boolean {
  return (role === 'querier' || role === 'standalone') && state === 'ready';
}

/** Returns a text that identifies the sink of a flow. */
export function sinkOf({ spec }: Flow): string {
  return `${spec?.sinkDatabase}\0${spec?.sinkTable}`;
}
