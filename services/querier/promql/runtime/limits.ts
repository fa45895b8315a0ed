import type { Clock } from '#shared/clock/clock';
import { Slices } from '#shared/clock/slices';
import { AlmanacError } from '#shared/errors/almanac-error';

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
/** Work of `inSlices` between two checks of the clock. */
const WORK_PER_SLICE = 1 << 14;

/** Work between two checks of deadline and cancellation: some milliseconds. */
const WORK_PER_CHECK = 1 << 20;

/** Counts the resources that a query uses; ends the query when it exceeds its limits. */
export class QueryLimits {
  /** Vectors with more steps are computed in chunks of this many. */
  readonly stepsPerChunk: number;
  readonly #samplesMax: number;
  readonly #endsMs: number;
  readonly #signal: AbortSignal;
  readonly #clock: Clock;
  #samples = 0;
  #peak = 0;
  #work = 0;
  #isDue = false;
  readonly #slices: Slices;

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
    this.#slices = new Slices(clock);
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
  spend(samples: number): void {
    this.#work += samples;
    if (this.#slices.isOver(samples)) this.#isDue = true;
    if (this.#work < WORK_PER_CHECK) return;
    this.#work = 0;
    this.check();
  }

  /** Counts work and reports whether to await `yield`, as `Slices` does. @throws as `check`. */
  isOver(work: number): boolean {
    this.spend(work);
    return this.#isDue;
  }

  /** Whether the query has computed long enough to await `yield` before it continues. */
  get isDue(): boolean {
    return this.#isDue;
  }

  /** Yields to the event loop. @throws as `check`. */
  async yield(): Promise<void> {
    await this.#slices.yield();
    this.#isDue = false;
    this.check();
  }

  /**
   * Processes items in order, in slices short enough for other work of the process.
   *
   * @param run processes the items `[from, to)`.
   * @param weight cost of an item, in units of reading one float.
   * @returns a promise only if it yields before the last slice.
   */
  inSlices(count: number, run: (from: number, to: number) => void, weight = 1): void | Promise<void> {
    const most = Math.max(1, Math.floor(WORK_PER_SLICE / weight));
    for (let from = 0; from < count; from += most) {
      if (this.#isDue) return this.#inSlicesFrom(from, count, run, weight);
      this.#runSome(from, Math.min(count, from + most), run, weight);
    }
  }

  async #inSlicesFrom(
    first: number,
    count: number,
    run: (from: number, to: number) => void,
    weight: number,
  ): Promise<void> {
    const most = Math.max(1, Math.floor(WORK_PER_SLICE / weight));
    for (let from = first; from < count; from += most) {
      if (this.#isDue) await this.yield();
      this.#runSome(from, Math.min(count, from + most), run, weight);
    }
  }

  #runSome(from: number, to: number, run: (from: number, to: number) => void, weight: number): void {
    run(from, to);
    this.spend((to - from) * weight);
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

/** Runs `next` after work that may be asynchronous; synchronously if the work was. */
export function after<T>(work: void | Promise<void>, next: () => T | Promise<T>): T | Promise<T> {
  return work === undefined ? next() : work.then(next);
}
