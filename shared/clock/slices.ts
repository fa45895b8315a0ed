import type { Clock } from './clock.js';

/** Others wait at most about so long for a slice. */
const SLICE_MS = 3;
/** Some tenths of a millisecond if a unit is one number. */
const WORK_PER_LOOK = 1 << 14;

export interface SlicesOptions {
  /** Called after each turn; what it throws ends the work, as when its call was given up meanwhile. */
  readonly check?: () => void;
  /** Work between two looks at the clock. */
  readonly workPerLook?: number;
}

/** Long work, cut by the time that it takes: `if (slices.isOver(work)) await slices.turn()`. It begins now. */
export class Slices {
  readonly #clock: Clock;
  readonly #check: (() => void) | undefined;
  readonly #workPerLook: number;
  #beganMs: number;
  #work = 0;

  constructor(clock: Clock, { check, workPerLook = WORK_PER_LOOK }: SlicesOptions = {}) {
    this.#clock = clock;
    this.#check = check;
    this.#workPerLook = workPerLook;
    this.#beganMs = clock.monotonicMs();
  }

  /** Counts work, and tells whether others are to be served before more is done. @param work about so many numbers. */
  isOver(work: number): boolean {
    this.#work += work;
    if (this.#work < this.#workPerLook) return false;
    this.#work = 0;
    return this.#clock.monotonicMs() - this.#beganMs >= SLICE_MS;
  }

  /** Lets others be served. */
  async yield(): Promise<void> {
    await this.#clock.yield();
    this.#check?.();
    this.#beganMs = this.#clock.monotonicMs();
  }
}
