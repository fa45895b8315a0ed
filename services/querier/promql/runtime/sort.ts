import type { QueryLimits } from './limits.js';

/** Number of items sorted without yielding. */
const RUN = 1 << 10;
/** Cost of a comparison, in units of reading one float. */
const COMPARISON = 8;

/** Sorts items with a stable merge sort that yields to the event loop. */
export async function sortedInSlices<T>(
  items: readonly T[],
  compare: (one: T, other: T) => number,
  limits: QueryLimits,
): Promise<T[]> {
  if (items.length <= RUN) return [...items].sort(compare);
  let from: T[] = [];
  for (let start = 0; start < items.length; start += RUN) {
    if (limits.isDue) await limits.yield();
    limits.spend(RUN * COMPARISON * Math.log2(RUN));
    for (const item of items.slice(start, start + RUN).sort(compare)) from.push(item);
  }
  let to = new Array<T>(from.length);
  for (let width = RUN; width < items.length; width *= 2) {
    const merge = new Merge(from, to, compare);
    for (let start = 0; start < items.length; start += 2 * width) {
      merge.begin(start, Math.min(start + width, items.length), Math.min(start + 2 * width, items.length));
      while (!merge.isDone) {
        if (limits.isDue) await limits.yield();
        limits.spend(RUN * COMPARISON);
        merge.step(RUN);
      }
    }
    [from, to] = [to, from];
  }
  return from;
}

/** Merges two adjacent sorted runs, some items at a time. */
class Merge<T> {
  readonly #from: readonly T[];
  readonly #to: T[];
  readonly #compare: (one: T, other: T) => number;
  #left = 0;
  #leftEnd = 0;
  #right = 0;
  #rightEnd = 0;
  #next = 0;

  constructor(from: readonly T[], to: T[], compare: (one: T, other: T) => number) {
    this.#from = from;
    this.#to = to;
    this.#compare = compare;
  }

  begin(left: number, right: number, end: number): void {
    this.#left = left;
    this.#leftEnd = right;
    this.#right = right;
    this.#rightEnd = end;
    this.#next = left;
  }

  get isDone(): boolean {
    return this.#next === this.#rightEnd;
  }

  step(count: number): void {
    const from = this.#from;
    const end = Math.min(this.#next + count, this.#rightEnd);
    for (; this.#next < end; this.#next++) {
      const isLeft =
        this.#left < this.#leftEnd &&
        (this.#right === this.#rightEnd || this.#compare(from[this.#left], from[this.#right]) <= 0);
      this.#to[this.#next] = from[isLeft ? this.#left++ : this.#right++];
    }
  }
}
