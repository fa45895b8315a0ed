import type { Clock } from '#shared/clock/clock';
import type { NodeLifecycle } from './store/nodes.js';

/**
 * When each node was heard of last. In memory only: after a restart every node has a fresh lease.
 *
 * Leases only tell who is alive; grants fence.
 */
export class Leases {
  readonly leaseMs: number;
  readonly #clock: Clock;
  /** When leases of nodes that did not speak yet began. */
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

  /** Notes that a node spoke, and what it said of itself. */
  renew(nodeId: number, state: NodeLifecycle): void {
    const nowMs = this.#clock.monotonicMs();
    this.#heardMs.set(nodeId, nowMs);
    if (state !== 'ready') this.#readyMs.delete(nodeId);
    else if (!this.#readyMs.has(nodeId)) this.#readyMs.set(nodeId, nowMs);
  }

  /** Whether the node was not heard of for longer than a lease. */
  isExpired(nodeId: number): boolean {
    return this.#clock.monotonicMs() - (this.#heardMs.get(nodeId) ?? this.#startedMs) > this.leaseMs;
  }

  /** How long the node has said that it is ready, without a break; 0 if it has not said so since this process began. */
  readyForMs(nodeId: number): number {
    const sinceMs = this.#readyMs.get(nodeId);
    return sinceMs === undefined ? 0 : this.#clock.monotonicMs() - sinceMs;
  }

  /**
   * To be called often. If it was not, this process stood still and could not hear anybody: all leases begin anew, so
   * that heartbeats which wait in its sockets come before its judgement.
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
