import { performance, type EventLoopUtilization } from 'node:perf_hooks';

import type { Clock } from './clock.js';

const MEASURED_MS = 50;
const BUSY = 0.5;

/** Measures how busy the main thread's event loop is. */
export class LoopLoad {
  readonly #clock: Clock;
  #last: EventLoopUtilization = performance.eventLoopUtilization();
  #lastMs: number;
  #isBusy = false;

  constructor(clock: Clock) {
    this.#clock = clock;
    this.#lastMs = clock.monotonicMs();
  }

  /** Whether the loop was busy for more than half of the last measured interval (50 ms). */
  get isBusy(): boolean {
    const nowMs = this.#clock.monotonicMs();
    if (nowMs - this.#lastMs < MEASURED_MS) return this.#isBusy;
    const now = performance.eventLoopUtilization();
    this.#isBusy = performance.eventLoopUtilization(now, this.#last).utilization > BUSY;
    this.#last = now;
    this.#lastMs = nowMs;
    return this.#isBusy;
  }
}
