import type { Clock } from './clock.js';

/** Others wait at most about so long for a slice. */
const SLICE_MS = 3;
/** Work between two looks at the clock: some tenths of a millisecond if a unit is one number. */
const WORK_PER_LOOK = 1 << 14;

/** Long work, cut by the time that it takes: `if (slices.isOver(work)) await slices.turn()`. */
export class Slices {
  readonly #clock: Clock;
  #beganMs: number;
  #work = 0;

  constructor(clock: Clock) {
    this.#clock = clock;
    this.#beganMs = clock.monotonicMs();
  }

  /** Counts work, and tells whether others are to be served before more is done. @param work about so many numbers. */
  isOver(work: number): boolean {
    this.#work += work;
    if (this.#work < WORK_PER_LOOK) return false;
    this.#work = 0;
    return this.#clock.monotonicMs() - this.#beganMs >= SLICE_MS;
  }

  /** Lets others be served. */
  async turn(): Promise<void> {
    await this.#clock.turn();
    this.#beganMs = this.#clock.monotonicMs();
  }
}
