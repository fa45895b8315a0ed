import type { Clock } from '#shared/clock/clock';
import { Slices } from '#shared/clock/slices';
import { AlmanacError } from '#shared/errors/almanac-error';

/** What one query may use. */
export interface LimitOptions {
  /** Most samples that are held at once: those read, and a place for each step of each series that is made. */
  readonly samplesMax: number;
  /** From now on. */
  readonly timeoutMs: number;
  readonly signal: AbortSignal;
  readonly clock: Clock;
}

/** Samples that are looked at between two looks at the clock: some milliseconds. */
const WORK_PER_CHECK = 1 << 20;

/** Counts what a query uses, and ends it where that is too much. */
export class Limits {
  readonly #samplesMax: number;
  readonly #endsMs: number;
  readonly #signal: AbortSignal;
  readonly #clock: Clock;
  #samples = 0;
  #peak = 0;
  #work = 0;
  #isDue = false;
  readonly #slices: Slices;

  constructor({ samplesMax, timeoutMs, signal, clock }: LimitOptions) {
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
  async turn(): Promise<void> {
    await this.#slices.turn();
    this.#isDue = false;
    this.check();
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
