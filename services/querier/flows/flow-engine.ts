import type { Clock } from '#shared/clock/clock';
import { ownCall, type Call } from '#shared/contracts/call';
import type { Flow, FlowLease, MetadataService } from '#shared/contracts/gen/metadata';
import { AlmanacError } from '#shared/errors/almanac-error';
import { resultFormatNamed } from '#shared/formats/registry';
import { Loop } from '#shared/lifecycle/loop';
import type { AdmissionSlot } from '#shared/limits/bounded-queue';
import type { Logger } from '#shared/telemetry/log';
import type { Metrics } from '#shared/telemetry/metrics';
import { parseZone } from '#shared/time/zone';

import { flowAge, type QuerierMetrics } from '../metrics.js';
import type { Admission } from '../run/admission.js';
import { withDeadline } from '../run/deadline.js';
import type { MemoryWatch } from '../run/memory-watch.js';
import { runRights } from '../sql/flow/rights.js';
import { specOf } from '../sql/flow/text.js';
import type { FlowRunner, StatementContext, StatementDeps } from '../sql/statement.js';
import { areSameInputs, NO_INPUTS, runFlow, type FlowOutcome, type FlowProgress } from './run-flow.js';

/** Collaborators of a `FlowEngine`. */
export interface FlowEngineDeps {
  readonly metadata: MetadataService;
  readonly clock: Clock;
  readonly statements: () => StatementDeps;
  readonly admission: Admission;
  readonly memory: MemoryWatch;
  readonly querierMetrics: QuerierMetrics;
  readonly metrics: Metrics;
  readonly log: Logger;
  /** ID of this process in the cluster. */
  readonly nodeId: () => number;
  /** Pause between two looks of a flow for changes, in milliseconds. */
  readonly intervalMs: number;
  /** Longest duration of a run, in milliseconds. */
  readonly maxTimeoutMs: number;
}

/** Longest pause between requests for leases. */
const LEASE_INTERVAL_MS = 500;
const LEASE_CALL_MS = 3_000;
/** Part of a lease in which nothing is written any more. */
const LEASE_MARGIN = 0.2;
const RUNS_MAX = 2;
const BACKOFF_MS = 1_000;
const BACKOFF_MS_MAX = 60_000;
const NS_PER_MS = 1_000_000n;

/** A flow that this process owns. */
interface OwnedFlow {
  lease: FlowLease;
  flow: Flow | undefined;
  readonly progress: FlowProgress;
  readonly stop: AbortController;
  /** Wall clock of the next run. */
  dueMs: number;
  failures: number;
  /** What the last run waited for. */
  waitsFor: string | undefined;
  /** Wall clock of the last successful look for changes. */
  checkedMs: number;
}

/** Runs the flows that metadata gives to this process, each at its interval. */
export class FlowEngine implements FlowRunner {
  readonly #deps: FlowEngineDeps;
  readonly #loop: Loop;
  /** By flow, version and epoch. */
  readonly #owned = new Map<string, OwnedFlow>();
  /** Running flows, by sink: the flows of a sink run one after the other. */
  readonly #running = new Map<string, Promise<void>>();
  readonly #hideAge: () => void;
  /** Monotonic time at which nothing may be written any more. */
  #leaseEndMs = -Infinity;
  #isLost = false;

  constructor(deps: FlowEngineDeps) {
    const { clock, log, metrics } = deps;
    this.#deps = deps;
    const intervalMs = Math.min(LEASE_INTERVAL_MS, deps.intervalMs);
    this.#loop = new Loop({ name: 'querier.flows', intervalMs, clock, log, metrics }, (signal) => this.#turn(signal));
    this.#hideAge = flowAge(metrics, () => this.#oldestSeconds());
  }

  start(): void {
    this.#loop.start();
  }

  wake(): void {
    this.#loop.wake();
  }

  /** Stops all runs, then lets other processes have the flows. May be called twice. */
  async stop(): Promise<void> {
    await this.#loop.stop();
    this.#hideAge();
    for (const key of [...this.#owned.keys()]) this.#drop(key);
    await Promise.all(this.#running.values());
    if (this.#leaseEndMs === -Infinity) return;
    this.#leaseEndMs = -Infinity;
    const call = { ...ownCall('flows'), deadlineMs: this.#deps.clock.nowMs() + LEASE_CALL_MS };
    // Without it, they wait for the end of the lease.
    await this.#deps.metadata.leaseFlows({ nodeId: this.#deps.nodeId(), release: true }, call).catch(() => undefined);
  }

  async #turn(signal: AbortSignal): Promise<void> {
    const { clock, log, metadata, nodeId } = this.#deps;
    const askedMs = clock.monotonicMs();
    try {
      const call = { ...ownCall('flows', signal), deadlineMs: clock.nowMs() + LEASE_CALL_MS };
      const { leases, leaseMs } = await metadata.leaseFlows({ nodeId: nodeId(), release: false }, call);
      this.#leaseEndMs = askedMs + leaseMs * (1 - LEASE_MARGIN);
      this.#isLost = false;
      this.#follow(leases);
    } catch (error) {
      if (!this.#isLost) log.warn({ error }, 'flows pause: metadata does not renew the lease on them');
      this.#isLost = true;
    }
    if (!signal.aborted && this.#isLeased()) this.#startDue();
  }

  #isLeased(): boolean {
    return this.#deps.clock.monotonicMs() < this.#leaseEndMs;
  }

  /** Begins and ends the ownership of flows. */
  #follow(leases: readonly FlowLease[]): void {
    const keys = new Set(leases.map(keyOf));
    for (const key of [...this.#owned.keys()]) if (!keys.has(key)) this.#drop(key);
    const nowMs = this.#deps.clock.nowMs();
    for (const lease of leases) {
      const known = this.#owned.get(keyOf(lease));
      if (known === undefined) this.#owned.set(keyOf(lease), newlyOwned(lease, nowMs));
      else known.lease = lease;
    }
  }

  #drop(key: string): void {
    const owned = this.#owned.get(key);
    this.#owned.delete(key);
    owned?.stop.abort(new AlmanacError('cancelled', 'the flow has another owner or definition, or was dropped'));
  }

  #startDue(): void {
    const nowMs = this.#deps.clock.nowMs();
    const due = [...this.#owned.values()].filter((owned) => isFlushed(owned) || owned.dueMs <= nowMs);
    due.sort((a, b) => Number(isFlushed(b)) - Number(isFlushed(a)) || a.dueMs - b.dueMs);
    for (const owned of due) {
      if (this.#running.size >= RUNS_MAX) return;
      const key = owned.lease.sink;
      if (this.#running.has(key)) continue;
      const run = this.#run(owned).finally(() => {
        this.#running.delete(key);
        this.#loop.wake();
      });
      this.#running.set(key, run);
    }
  }

  /** Runs a flow once; never rejects. */
  async #run(owned: OwnedFlow): Promise<void> {
    const { clock, querierMetrics, maxTimeoutMs } = this.#deps;
    const ticket = isFlushed(owned) ? owned.lease.flushRequested : 0n;
    const startMs = clock.monotonicMs();
    const timed = withDeadline(ownCall(`flow-${owned.lease.flowId}`, owned.stop.signal), clock, maxTimeoutMs);
    // Not due while it runs.
    owned.dueMs = Infinity;
    let outcome = 'ok';
    let rows = 0;
    let hasRun = true;
    try {
      const flow = await this.#loaded(owned, timed.call);
      const scheduledMs = ticket > 0n ? clock.nowMs() : scheduledTime(flow, clock.nowMs());
      const result = await this.#evaluate(owned, flow, scheduledMs, timed.call, (error) => timed.end(error));
      ({ rows } = result);
      hasRun = await this.#commit(owned, flow, result, ticket, timed.call);
      owned.failures = 0;
      owned.checkedMs = clock.nowMs();
      owned.dueMs = this.#nextDue(flow);
    } catch (error) {
      outcome = AlmanacError.from(error).code;
      await this.#failed(owned, error, ticket);
    } finally {
      timed.close();
    }
    if (hasRun) querierMetrics.flowEnded((clock.monotonicMs() - startMs) / 1000, outcome, rows);
  }

  async #loaded(owned: OwnedFlow, call: Call): Promise<Flow> {
    if (owned.flow !== undefined) return owned.flow;
    const flow = await this.#deps.metadata.getFlow({ flowId: owned.lease.flowId }, call);
    // The definition may be a newer one than that of the lease; a commit would be refused.
    if (flow.version !== owned.lease.version || flow.epoch !== owned.lease.epoch) {
      throw new AlmanacError('illegal_state', 'the flow has another owner or definition');
    }
    const { progress } = owned;
    progress.positions = positionsOf(flow);
    for (const { regionId } of flow.positions) progress.announced.add(regionId);
    progress.needsRebuild = flow.needsRebuild;
    progress.inputs = flow.inputs ?? NO_INPUTS;
    owned.flow = flow;
    return flow;
  }

  async #evaluate(
    owned: OwnedFlow,
    flow: Flow,
    scheduledMs: number,
    ownerCall: Call,
    end: (error: AlmanacError) => void,
  ): Promise<FlowOutcome> {
    const { admission, memory, statements } = this.#deps;
    const spec = specOf(flow);
    const { flowId, epoch } = flow;
    const call = { ...ownerCall, rights: runRights(spec.rights), flow: { flowId, epoch } };
    const contextOf = (slot: AdmissionSlot): StatementContext => ({
      deps: statements(),
      session: { database: spec.database, zone: parseZone(spec.timezone) },
      call,
      slot,
      format: resultFormatNamed(''),
      limit: undefined,
      nowNs: BigInt(scheduledMs) * NS_PER_MS,
    });
    const run = async (slot: AdmissionSlot): Promise<FlowOutcome> => {
      const leave = memory.enter(end);
      try {
        const writeCall = (): Call => this.#writeCall(call);
        return await runFlow({ flow, spec, progress: owned.progress, context: contextOf(slot), writeCall });
      } finally {
        leave();
      }
    };
    let outcome: FlowOutcome = { rows: 0, positions: undefined, changeIds: [] };
    const held = admission.hold(call, async function* (slot) {
      yield await run(slot);
    });
    for await (const it of held) outcome = it;
    return outcome;
  }

  /** Returns the call of writes, whose deadline moves with the lease. @throws `illegal_state` if the lease has ended. */
  #writeCall(call: Call): Call {
    if (!this.#isLeased()) throw new AlmanacError('illegal_state', 'the lease on the flow has ended');
    const { clock } = this.#deps;
    const deadline = (): number => clock.nowMs() + Math.max(0, this.#leaseEndMs - clock.monotonicMs());
    return {
      ...call,
      get deadlineMs() {
        return Math.min(call.deadlineMs, deadline());
      },
    };
  }

  /** Commits what a run has processed. @returns whether there was anything. */
  async #commit(owned: OwnedFlow, flow: Flow, result: FlowOutcome, ticket: bigint, call: Call): Promise<boolean> {
    const { clock, metadata } = this.#deps;
    const { progress } = owned;
    const { inputs } = result;
    const isIdle = hasNothing(result, progress);
    // A run that finds nothing is committed once, after a failure or at first, so that its time is shown.
    const isKnown = flow.lastRunMs > 0 && owned.waitsFor === result.waitsFor;
    if (isIdle && ticket === 0n && owned.failures === 0 && isKnown) return false;
    const positions = Array.from(result.positions ?? [], ([regionId, sequence]) => ({ regionId, sequence }));
    const { flowId, version, epoch } = flow;
    const runMs = clock.nowMs();
    const flushed = { flushTicket: ticket, flushRows: BigInt(result.rows) };
    const { changeIds, waitsFor } = result;
    const state = { error: waitsFor ?? '', isWaiting: waitsFor !== undefined };
    await metadata.commitFlow(
      { flowId, version, epoch, positions, changeIds: [...changeIds], runMs, inputs, ...state, ...flushed },
      call,
    );
    owned.waitsFor = waitsFor;
    if (result.positions !== undefined) progress.positions = result.positions;
    if (inputs !== undefined) progress.inputs = inputs;
    if (waitsFor === undefined) progress.needsRebuild = false;
    owned.flow = { ...flow, lastRunMs: runMs };
    owned.lease = { ...owned.lease, flushDone: ticket > 0n ? ticket : owned.lease.flushDone };
    return !isIdle;
  }

  async #failed(owned: OwnedFlow, thrown: unknown, ticket: bigint): Promise<void> {
    const { clock, log, metadata } = this.#deps;
    owned.failures++;
    owned.dueMs = clock.nowMs() + Math.min(BACKOFF_MS * 2 ** (owned.failures - 1), BACKOFF_MS_MAX);
    if (owned.stop.signal.aborted) return;
    const error = AlmanacError.from(thrown);
    const { flowId, version, epoch } = owned.lease;
    const name = owned.flow?.spec?.name;
    // Delays grow, so that the lines do not need a limit of their own.
    log.warn({ flow: name, error, failures: owned.failures }, 'flow failed and will be run again');
    const outcome = { positions: [], changeIds: [], runMs: clock.nowMs(), error: error.message };
    const flushed = { flushTicket: ticket, flushRows: 0n, isWaiting: false };
    const call = { ...ownCall(`flow-${flowId}`, owned.stop.signal), deadlineMs: clock.nowMs() + LEASE_CALL_MS };
    try {
      await metadata.commitFlow({ flowId, version, epoch, ...outcome, ...flushed }, call);
      owned.lease = { ...owned.lease, flushDone: ticket > 0n ? ticket : owned.lease.flushDone };
    } catch (failure) {
      log.debug({ flow: name, error: failure }, 'the failure of a flow could not be recorded');
    }
  }

  #nextDue(flow: Flow): number {
    const { clock, intervalMs } = this.#deps;
    const nowMs = clock.nowMs();
    const { evalIntervalMs } = specOf(flow);
    return evalIntervalMs === 0 ? nowMs + intervalMs : (Math.floor(nowMs / evalIntervalMs) + 1) * evalIntervalMs;
  }

  #oldestSeconds(): number {
    const nowMs = this.#deps.clock.nowMs();
    return Math.max(0, ...Array.from(this.#owned.values(), ({ checkedMs }) => (nowMs - checkedMs) / 1000));
  }
}

/** Whether a run has found nothing to do. */
function hasNothing({ positions, changeIds, rows, inputs }: FlowOutcome, progress: FlowProgress): boolean {
  if (inputs !== undefined && !areSameInputs(inputs, progress.inputs)) return false;
  return positions === undefined && changeIds.length === 0 && rows === 0;
}

function newlyOwned(lease: FlowLease, nowMs: number): OwnedFlow {
  return {
    lease,
    flow: undefined,
    progress: {
      positions: new Map(),
      announced: new Set(),
      plan: undefined,
      needsRebuild: false,
      inputs: NO_INPUTS,
      fencedSink: undefined,
    },
    stop: new AbortController(),
    dueMs: nowMs,
    failures: 0,
    waitsFor: undefined,
    checkedMs: nowMs,
  };
}

function keyOf({ flowId, version, epoch }: FlowLease): string {
  return `${flowId}:${version}:${epoch}`;
}

function isFlushed({ lease }: OwnedFlow): boolean {
  return lease.flushRequested > lease.flushDone;
}

/** Returns the time that `now()` has in a run: the last multiple of the interval. */
function scheduledTime(flow: Flow, nowMs: number): number {
  const { evalIntervalMs } = specOf(flow);
  return evalIntervalMs === 0 ? nowMs : Math.floor(nowMs / evalIntervalMs) * evalIntervalMs;
}

/** Announced regions have a position of zero, which means that nothing of them was read. */
function positionsOf({ positions }: Flow): Map<number, bigint> {
  return new Map(positions.filter(({ sequence }) => sequence > 0n).map((it) => [it.regionId, it.sequence]));
}
