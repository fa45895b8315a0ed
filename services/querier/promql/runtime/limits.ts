import type { Clock } from '#shared/clock/clock';
import { AlmanacError } from '#shared/errors/almanac-error';

import { Scheduler } from './scheduler.js';

/** Resource limits of one query. */
export interface QueryLimitOptions {
  /** Largest number of samples in memory: those read, plus one per step of each computed series. */
  readonly samplesMax: number;
  /** Relative to the construction of the limits. */
  readonly timeoutMs: number;
  readonly signal: AbortSignal;
  readonly clock: Clock;
  /** Largest number of steps that are computed without yielding. */
  readonly stepsPerChunk?: number;
}

const STEPS_PER_CHUNK = 1 << 13;

/** Work between two checks of deadline and cancellation: some milliseconds. */
const WORK_PER_CHECK = 1 << 20;

/** Counts the resources that a query uses; ends the query when it exceeds its limits. */
export class QueryLimits {
  /** Vectors with more steps are computed in chunks of this many. */
  readonly stepsPerChunk: number;
  readonly scheduler: Scheduler;
  readonly #samplesMax: number;
  readonly #endsMs: number;
  readonly #signal: AbortSignal;
  readonly #clock: Clock;
  #samples = 0;
  #peak = 0;
  #work = 0;

  constructor({
    samplesMax,
    timeoutMs,
    signal,
    clock,
    stepsPerChunk: stepsAtOnce = STEPS_PER_CHUNK,
  }: QueryLimitOptions) {
    this.stepsPerChunk = stepsAtOnce;
    this.#samplesMax = samplesMax;
    this.#endsMs = clock.monotonicMs() + timeoutMs;
    this.#signal = signal;
    this.#clock = clock;
    this.scheduler = new Scheduler(clock, () => this.check());
  }

  /** Number of samples in memory. */
  get held(): number {
    return this.#samples;
  }

  /** Largest number of samples that were in memory. */
  get peak(): number {
    return this.#peak;
  }

  /** Counts samples before they are loaded or computed. @throws `execute_query` above the limit. */
  add(samples: number): void {
    this.#samples += samples;
    this.#peak = Math.max(this.#peak, this.#samples);
    this.spend(samples);
    if (this.#samples <= this.#samplesMax) return;
    throw new AlmanacError(
      'execute_query',
      'query processing would load too many samples into memory in query execution',
    );
  }

  /** Sets the number of samples in memory, after others were freed. */
  reset(samples: number): void {
    this.#samples = samples;
  }

  /** Counts work, in units of reading one float; checks the deadline from time to time. @throws as `check`. */
  spend(work: number): void {
    this.#work += work;
    this.scheduler.spend(work);
    if (this.#work < WORK_PER_CHECK) return;
    this.#work = 0;
    this.check();
  }

  /** @throws `deadline_exceeded` or `cancelled` if the query must end. */
  check(): void {
    const reason: unknown = this.#signal.reason;
    const isExpired = reason instanceof AlmanacError && reason.code === 'deadline_exceeded';
    if (isExpired || this.#clock.monotonicMs() >= this.#endsMs) {
      throw new AlmanacError('deadline_exceeded', 'query timed out in expression evaluation');
    }
    if (this.#signal.aborted) throw new AlmanacError('cancelled', 'query was canceled in expression evaluation');
  }
}
