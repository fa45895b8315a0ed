/** Steps of a slab: half a megabyte of values. */
const SLAB_STEPS = 1 << 16;
/** Series longer than this have arrays of their own. */
const SHARED_STEPS_MAX = 1 << 12;

/** Room for one series. */
export interface SeriesRoom {
  readonly kinds: Uint8Array;
  readonly values: Float64Array;
}

/**
 * Makes the arrays of many short series from few long ones: an array with a buffer of its own costs a microsecond, and
 * more when it is collected.
 */
export class Slabs {
  #kinds = new Uint8Array(0);
  #values = new Float64Array(0);
  #used = 0;

  /** Zeros for so many steps. */
  take(steps: number): SeriesRoom {
    if (steps > SHARED_STEPS_MAX) return { kinds: new Uint8Array(steps), values: new Float64Array(steps) };
    if (this.#used + steps > this.#kinds.length) this.#begin(steps);
    const from = this.#used;
    this.#used += steps;
    return { kinds: this.#kinds.subarray(from, this.#used), values: this.#values.subarray(from, this.#used) };
  }

  /** Slabs grow with what is asked for, so that a small query does not pay for a large one. */
  #begin(steps: number): void {
    const length = Math.max(steps, Math.min(SLAB_STEPS, 4 * this.#kinds.length));
    this.#kinds = new Uint8Array(length);
    this.#values = new Float64Array(length);
    this.#used = 0;
  }
}
