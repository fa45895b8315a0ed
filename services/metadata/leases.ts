import type { Clock } from '#shared/clock/clock';
import type { NodeLifecycle } from './store/nodes.js';

/**
 * Last heartbeat of each node. In memory only: after a restart every node has a fresh lease.
 *
 * Leases only determine which nodes count as alive; grants do the fencing.
 */
export class Leases {
  readonly leaseMs: number;
  readonly #clock: Clock;
  /** Start of the leases of nodes without a heartbeat. */
  #startedMs: number;
  #checkedMs: number;
  readonly #heardMs = new Map<number, number>();
  readonly #readyMs = new Map<number, number>();

  constructor(leaseMs: number, clock: Clock) {
    this.leaseMs = leaseMs;
    this.#clock = clock;
    this.#startedMs = clock.monotonicMs();
    this.#checkedMs = this.#startedMs;
  }

  /**
   * Renews a node's lease.
   * @param state that the node reported.
   */
  renew(nodeId: number, state: NodeLifecycle): void {
    const nowMs = this.#clock.monotonicMs();
    this.#heardMs.set(nodeId, nowMs);
    if (state !== 'ready') this.#readyMs.delete(nodeId);
    else if (!this.#readyMs.has(nodeId)) this.#readyMs.set(nodeId, nowMs);
  }

  /** Returns whether the node sent no heartbeat for longer than a lease. */
  isExpired(nodeId: number): boolean {
    return this.#clock.monotonicMs() - (this.#heardMs.get(nodeId) ?? this.#startedMs) > this.leaseMs;
  }

  /**
   * Returns for how long the node has reported that it is ready, without interruption; 0 if it has not since this
   * process started.
   */
  readyForMs(nodeId: number): number {
    const sinceMs = this.#readyMs.get(nodeId);
    return sinceMs === undefined ? 0 : this.#clock.monotonicMs() - sinceMs;
  }

  /**
   * Must be called often. If it was not, this process was suspended: all leases start again, so that heartbeats waiting
   * in its sockets are processed before nodes are judged.
   */
  tick(): void {
    const nowMs = this.#clock.monotonicMs();
    if (nowMs - this.#checkedMs > this.leaseMs / 2) {
      this.#startedMs = nowMs;
      this.#heardMs.clear();
    }
    this.#checkedMs = nowMs;
  }

  remove(nodeId: number): void {
    this.#heardMs.delete(nodeId);
    this.#readyMs.delete(nodeId);
  }
}
