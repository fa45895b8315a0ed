import type { Clock } from '#shared/clock/clock';
import { Slices } from '#shared/clock/slices';
import { AlmanacError } from '#shared/errors/almanac-error';

/** What one query may use. */
export interface QueryLimitOptions {
  /** Most samples that are held at once: those read, and a place for each step of each series that is made. */
  readonly samplesMax: number;
  /** From now on. */
  readonly timeoutMs: number;
  readonly signal: AbortSignal;
  readonly clock: Clock;
  /** Most steps that are computed at once, whatever is computed. */
  readonly stepsPerChunk?: number;
}

const STEPS_AT_ONCE = 1 << 13;
/** Work that `inTurns` does between two looks at the clock. */
const WORK_AT_ONCE = 1 << 14;

/** Samples that are looked at between two looks at the clock: some milliseconds. */
const WORK_PER_CHECK = 1 << 20;

/** Counts what a query uses, and ends it where that is too much. */
export class QueryLimits {
  /** Vectors with more steps are made in pieces of so many. */
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

  constructor({ samplesMax, timeoutMs, signal, clock, stepsPerChunk: stepsAtOnce = STEPS_AT_ONCE }: QueryLimitOptions) {
    this.stepsPerChunk = stepsAtOnce;
    this.#samplesMax = samplesMax;
    this.#endsMs = clock.monotonicMs() + timeoutMs;
    this.#signal = signal;
    this.#clock = clock;
    this.#slices = new Slices(clock);
  }

  /** Samples that are held now. */
  get held(): number {
    return this.#samples;
  }

  /** Most samples that were held at once. */
  get peak(): number {
    return this.#peak;
  }

  /** Counts samples before they are loaded or made. @throws `execute_query` above the limit. */
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

  /** Says how many samples are held, once others were let go. */
  reset(samples: number): void {
    this.#samples = samples;
  }

  /** Counts work on samples; now and then looks whether the query is over. @throws as `check`. */
  spend(samples: number): void {
    this.#work += samples;
    if (this.#slices.isOver(samples)) this.#isDue = true;
    if (this.#work < WORK_PER_CHECK) return;
    this.#work = 0;
    this.check();
  }

  /** Whether the query has computed for so long that `turn` is to be awaited before it goes on. */
  get isDue(): boolean {
    return this.#isDue;
  }

  /** Lets others be served. @throws as `check`. */
  async yield(): Promise<void> {
    await this.#slices.yield();
    this.#isDue = false;
    this.check();
  }

  /**
   * Works on items in order, no more at once than others can wait for.
   *
   * @param run does items `[from, to)`.
   * @param weight of an item: about so many numbers are looked at.
   * @returns a promise only where others have to be served before all is done.
   */
  inSlices(count: number, run: (from: number, to: number) => void, weight = 1): void | Promise<void> {
    const most = Math.max(1, Math.floor(WORK_AT_ONCE / weight));
    for (let from = 0; from < count; from += most) {
      if (this.#isDue) return this.#inTurnsFrom(from, count, run, weight);
      this.#runSome(from, Math.min(count, from + most), run, weight);
    }
  }

  async #inTurnsFrom(
    ...[first, count, run, weight]: [number, ...Required<Parameters<QueryLimits['inSlices']>>]
  ): Promise<void> {
    const most = Math.max(1, Math.floor(WORK_AT_ONCE / weight));
    for (let from = first; from < count; from += most) {
      if (this.#isDue) await this.yield();
      this.#runSome(from, Math.min(count, from + most), run, weight);
    }
  }

  #runSome(from: number, to: number, run: (from: number, to: number) => void, weight: number): void {
    run(from, to);
    this.spend((to - from) * weight);
  }

  /** @throws `deadline_exceeded` or `cancelled` if the query is over. */
  check(): void {
    const reason: unknown = this.#signal.reason;
    const isLate = reason instanceof AlmanacError && reason.code === 'deadline_exceeded';
    if (isLate || this.#clock.monotonicMs() >= this.#endsMs) {
      throw new AlmanacError('deadline_exceeded', 'query timed out in expression evaluation');
    }
    if (this.#signal.aborted) throw new AlmanacError('cancelled', 'query was canceled in expression evaluation');
  }
}

/** What comes after work that may have to wait; waits only if the work did. */
export function after<T>(work: void | Promise<void>, next: () => T | Promise<T>): T | Promise<T> {
  return work === undefined ? next() : work.then(next);
}
