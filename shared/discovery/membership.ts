import type { Clock } from '#shared/clock/clock';
import type { Random } from '#shared/clock/random';
import { callError, type Call } from '#shared/contracts/call';
import type {
  HeartbeatResponse,
  MetadataService,
  RegisterNodeRequest,
  RegisterNodeResponse,
} from '#shared/contracts/gen/metadata';
import { AlmanacError } from '#shared/errors/almanac-error';
import type { Logger } from '#shared/telemetry/log';

export type NodeState = 'starting' | 'ready' | 'draining' | 'left';

export interface MembershipOptions {
  readonly metadata: MetadataService;
  /** Asked again for each attempt: a machine may get another address. */
  readonly registration: () => Promise<RegisterNodeRequest>;
  /** Is told that metadata does not take the process back, after which it must not work on. */
  readonly onRefused: (refusal: AlmanacError) => void;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Logger;
}

/** Rest before metadata is asked again; doubled at each failure in a row. */
const RETRY_MS = 100;
const RETRY_MS_MAX = 2_000;
/** Heartbeats in one lease, so that a lost one costs nothing. */
const BEATS_PER_LEASE = 4;
const LEAVE_MS_MAX = 1_000;

/** This process as a node of the cluster: registered with metadata, its lease renewed, its state told. */
export class Membership {
  readonly leaseMs: number;
  readonly #options: MembershipOptions;
  readonly #stopping = new AbortController();
  #state: NodeState = 'starting';
  #rest = new AbortController();
  #beating: Promise<void> | undefined;
  #nodeId: number;
  #addr: string;
  #isFolderKnown: boolean;
  #refusal: AlmanacError | undefined;
  #confirming: Promise<void> | undefined;
  /** Empty if metadata is of a release that does not tell. */
  readonly clusterId: string;

  private constructor(options: MembershipOptions, addr: string, registered: RegisterNodeResponse) {
    this.#options = options;
    this.#addr = addr;
    this.#nodeId = registered.nodeId;
    this.leaseMs = registered.leaseMs;
    this.clusterId = registered.clusterId;
    this.#isFolderKnown = registered.dataFolderKnown;
  }

  /** Registers, however long metadata takes to be there. @throws what the signal aborted with; what metadata refuses. */
  static async join(options: MembershipOptions, signal: AbortSignal): Promise<Membership> {
    const { metadata, registration, clock, random, log } = options;
    for (let restMs = RETRY_MS; ; restMs = Math.min(restMs * 2, RETRY_MS_MAX)) {
      try {
        const request = await registration();
        const call = { deadlineMs: clock.nowMs() + RETRY_MS_MAX, signal, requestId: 'register' };
        return new Membership(options, request.addr, await metadata.registerNode(request, call));
      } catch (error) {
        const failure = AlmanacError.from(error);
        if (signal.aborted) throw callError(signal);
        if (!failure.retry) throw failure;
        log.info({ reason: failure.message }, 'waiting for metadata');
      }
      await clock.sleep(restMs * (0.5 + random.fraction()), signal);
    }
  }

  /** One without a slot gets another number when metadata had forgotten it. */
  get nodeId(): number {
    return this.#nodeId;
  }

  get state(): NodeState {
    return this.#state;
  }

  /**
   * Renews the lease from now on.
   *
   * @param onMoves is told which regions metadata wants elsewhere, again and again until they are given away.
   */
  start(onMoves: (regionIds: readonly number[]) => void): void {
    this.#beating ??= this.#beatForever(onMoves);
  }

  /** Changes what the others see of this node, at once. */
  async tell(state: NodeState): Promise<HeartbeatResponse | undefined> {
    this.#state = state;
    return this.#beat(this.leaseMs / 2);
  }

  /**
   * Resolves once no segment can lie in another data folder than this process's: they are the same, or the cluster has none.
   *
   * @throws `illegal_state` if it is another one; `external` while metadata cannot be asked.
   */
  async confirmDataFolder(): Promise<void> {
    if (this.#isFolderKnown) return;
    this.#confirming ??= this.#confirm().finally(() => (this.#confirming = undefined));
    await this.#confirming;
  }

  async #confirm(): Promise<void> {
    let isTaken = false;
    const answer = await this.#beat(this.leaseMs / 2, () => (isTaken = true));
    if (this.#refusal !== undefined) throw this.#refusal;
    // Whoever is taken in again has the right folder; but another heartbeat may have asked before there was one.
    if (answer !== undefined || isTaken || this.#isFolderKnown) return;
    const text = 'metadata, which has to tell whether this is the data folder of the cluster, does not answer';
    throw new AlmanacError('external', text, { retryAfterSeconds: 1 });
  }

  /** The last word; resolves soon even if metadata does not answer. */
  async leave(): Promise<void> {
    this.#stopping.abort();
    this.#rest.abort();
    await this.#beating;
    this.#state = 'left';
    await this.#beat(LEAVE_MS_MAX);
  }

  async #beatForever(onMoves: (regionIds: readonly number[]) => void): Promise<void> {
    const { clock } = this.#options;
    const { signal } = this.#stopping;
    while (!signal.aborted) {
      this.#rest = new AbortController();
      await clock.sleep(this.leaseMs / BEATS_PER_LEASE, this.#rest.signal);
      if (signal.aborted) return;
      const answer = await this.#beat(this.leaseMs / 2);
      if (answer !== undefined && answer.regionIds.length > 0) onMoves(answer.regionIds);
    }
  }

  /**
   * One heartbeat; undefined if it was not answered, which the next one may be.
   *
   * @param onTaken is told if the process was taken in again instead.
   */
  async #beat(timeoutMs: number, onTaken?: () => void): Promise<HeartbeatResponse | undefined> {
    const { metadata, clock, log } = this.#options;
    const call: Call = {
      deadlineMs: clock.nowMs() + timeoutMs,
      signal: new AbortController().signal,
      requestId: 'heartbeat',
    };
    try {
      const answer = await metadata.heartbeat({ nodeId: this.nodeId, state: this.#state, addr: this.#addr }, call);
      this.#isFolderKnown ||= answer.dataFolderKnown;
      return answer;
    } catch (error) {
      const failure = AlmanacError.from(error);
      log.warn({ reason: failure.message }, 'heartbeat failed');
      if (failure.code === 'illegal_state' && this.#state !== 'left' && (await this.#registerAgain(call))) onTaken?.();
      return undefined;
    }
  }

  /**
   * Metadata does not know this node any more: it was away for long, metadata was restored from a copy, or has learnt that
   * the node's data folder is not the cluster's.
   *
   * @returns whether it is taken in again.
   */
  async #registerAgain(call: Call): Promise<boolean> {
    const { metadata, registration, onRefused, log } = this.#options;
    try {
      const request = await registration();
      const { nodeId, dataFolderKnown } = await metadata.registerNode(request, call);
      this.#addr = request.addr;
      this.#isFolderKnown = dataFolderKnown;
      if (nodeId !== this.#nodeId) log.warn({ nodeId, was: this.#nodeId }, 'registered under another number');
      this.#nodeId = nodeId;
      return true;
    } catch (error) {
      const failure = AlmanacError.from(error);
      log.warn({ reason: failure.message }, 'registration failed');
      if (failure.code === 'illegal_state') {
        this.#refusal = failure;
        onRefused(failure);
      }
      return false;
    }
  }
}
