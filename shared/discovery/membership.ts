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

/** Life-cycle state of a node as metadata stores it. */
export type NodeState = 'starting' | 'ready' | 'draining' | 'left';

/** Dependencies and callbacks of `Membership`. */
export interface MembershipOptions {
  readonly metadata: MetadataService;
  /** Called for each attempt, because the machine's address may change. */
  readonly registration: () => Promise<RegisterNodeRequest>;
  /** Called when metadata refuses to register the process again; it must stop working then. */
  readonly onRefused: (refusal: AlmanacError) => void;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Logger;
}

/** Pause before the next attempt to reach metadata; doubles with each consecutive failure. */
const ADVICE = 'check that metadata runs at metadata.addr, and that grpc.tls is on in both processes or in none';
const RETRY_MS = 100;
const RETRY_MS_MAX = 2_000;
/** Heartbeats per lease, so that losing one costs nothing. */
const BEATS_PER_LEASE = 4;
const LEAVE_MS_MAX = 1_000;

/** This process as a node of the cluster: registers with metadata, renews its lease and reports its state. */
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
  /** Empty if metadata runs a release that does not report it. */
  readonly clusterId: string;

  private constructor(options: MembershipOptions, addr: string, registered: RegisterNodeResponse) {
    this.#options = options;
    this.#addr = addr;
    this.#nodeId = registered.nodeId;
    this.leaseMs = registered.leaseMs;
    this.clusterId = registered.clusterId;
    this.#isFolderKnown = registered.dataFolderKnown;
  }

  /** Registers, waiting for metadata if necessary. @throws the signal's reason; the error with which metadata refuses. */
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
        // A failed handshake has its own cause, which is not that metadata is away.
        const advice = failure.message.includes(' over TLS: ') ? undefined : ADVICE;
        log.info({ reason: failure.message, advice }, 'waiting for metadata');
      }
      await clock.sleep(restMs * (0.5 + random.fraction()), signal);
    }
  }

  /** A node without a slot gets a new ID if metadata no longer knows it. */
  get nodeId(): number {
    return this.#nodeId;
  }

  get state(): NodeState {
    return this.#state;
  }

  /**
   * Starts to renew the lease.
   *
   * @param onMoves called with the regions that metadata wants to move elsewhere, repeatedly until they are released.
   */
  start(onMoves: (regionIds: readonly number[]) => void): void {
    this.#beating ??= this.#beatForever(onMoves);
  }

  /** Reports a new state to metadata at once. @returns undefined if metadata did not respond. */
  async reportState(state: NodeState): Promise<HeartbeatResponse | undefined> {
    this.#state = state;
    return this.#beat(this.leaseMs / 2);
  }

  /**
   * Resolves once it is certain that no segment is in another data folder: the folders are the same, or the cluster has none.
   *
   * @throws `illegal_state` if the cluster uses another folder; `external` while metadata cannot be reached.
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
    // A successful registration proves the folder; but an earlier heartbeat may date from before the cluster had one.
    if (answer !== undefined || isTaken || this.#isFolderKnown) return;
    const text = 'cannot verify the data folder: the metadata service does not respond';
    throw new AlmanacError('external', text, { retryAfterSeconds: 1 });
  }

  /** Reports that the node leaves; resolves soon even if metadata does not respond. */
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
   * Sends one heartbeat; undefined if there was no response, which the next one may get.
   *
   * @param onTaken called if the process was registered again instead.
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
   * Registers again after metadata has lost this node: it was away for long, metadata was restored from a copy, or metadata
   * found that the node's data folder is not the cluster's.
   *
   * @returns whether the registration succeeded.
   */
  async #registerAgain(call: Call): Promise<boolean> {
    const { metadata, registration, onRefused, log } = this.#options;
    try {
      const request = await registration();
      const { nodeId, dataFolderKnown } = await metadata.registerNode(request, call);
      this.#addr = request.addr;
      this.#isFolderKnown = dataFolderKnown;
      if (nodeId !== this.#nodeId) log.warn({ nodeId, formerNodeId: this.#nodeId }, 'registered with a new node ID');
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
