import type { Clock } from './clock.js';

/** Longest time that a slice delays other work, about. */
const SLICE_MS = 2;
/** Work units between two reads of the clock: some tenths of a millisecond if a unit is one number. */
const WORK_PER_LOOK = 1 << 14;

/** Options of `Slices`. */
export interface SlicesOptions {
  /** Called after each yield; an error that it throws ends the work, for example when the call was cancelled. */
  readonly check?: () => void;
  /** Work units between two reads of the clock. */
  readonly workPerLook?: number;
}

/** Cuts long work into slices by time: `if (slices.isOver(work)) await slices.yield()`. The first slice begins at once. */
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

  /** Adds `work` units and returns whether the slice has used up its time. */
  isOver(work: number): boolean {
    this.#work += work;
    if (this.#work < this.#workPerLook) return false;
    this.#work = 0;
    return this.#clock.monotonicMs() - this.#beganMs >= SLICE_MS;
  }

  /** Yields to the event loop and begins the next slice. */
  async yield(): Promise<void> {
    await this.#clock.yield();
    this.#check?.();
    this.#beganMs = this.#clock.monotonicMs();
  }
}
