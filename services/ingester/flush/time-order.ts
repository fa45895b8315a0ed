/**
 * What becomes of rows of one series with one time: the newest stays, or all are written to one place, the newest last,
 * or each stays.
 */
export type Versions = 'newest' | 'merged' | 'all';

/**
 * Where rows go that did not come in order of time: most did, so those that did not are sorted on their own and merged
 * with the others.
 */
export class TimeOrder {
  /** By the place in order of arrival: that in order of time, -1 for an older version that is left out. */
  readonly places: Int32Array;
  readonly #lows: Uint32Array;
  readonly #highs: Int32Array;
  readonly #versions: Versions;
  /** Rows of the series in order of arrival: each later than all before it, and the others. */
  #run: Uint32Array = new Uint32Array(1024);
  #runCount = 0;
  #strays: Uint32Array = new Uint32Array(1024);
  #spare: Uint32Array = new Uint32Array(1024);
  #strayCount = 0;
  /** Strays are in order within blocks of so many. */
  #sortedBy = 1;

  /** @param times in order of arrival. */
  constructor(times: BigInt64Array, versions: Versions) {
    this.places = new Int32Array(times.length);
    this.#lows = new Uint32Array(times.buffer, times.byteOffset, times.length * 2);
    this.#highs = new Int32Array(times.buffer, times.byteOffset, times.length * 2);
    this.#versions = versions;
  }

  /** Begins with a series, whose rows are `[from, to)`; `place` can be called once `isSorted`. */
  take(from: number, to: number): void {
    this.#makeRoom(to - from);
    const run = this.#run;
    const strays = this.#strays;
    let runCount = 0;
    let strayCount = 0;
    for (let row = from; row < to; row++) {
      if (runCount === 0 || this.#isBefore(run[runCount - 1], row)) run[runCount++] = row;
      else strays[strayCount++] = row;
    }
    this.#runCount = runCount;
    this.#strayCount = strayCount;
    this.#sortedBy = 1;
  }

  get isSorted(): boolean {
    return this.#sortedBy >= this.#strayCount;
  }

  /** One pass over the strays, of as many as are needed. */
  sortFurther(): void {
    const [source, target, width, count] = [this.#strays, this.#spare, this.#sortedBy, this.#strayCount];
    for (let left = 0; left < count; left += 2 * width) {
      const middle = Math.min(left + width, count);
      const end = Math.min(middle + width, count);
      let [a, b] = [left, middle];
      for (let to = left; to < end; to++) {
        // Those of one time stay in order of arrival.
        const takesLeft = a < middle && (b === end || !this.#isBefore(source[b], source[a]));
        target[to] = source[takesLeft ? a++ : b++];
      }
    }
    this.#strays = target;
    this.#spare = source;
    this.#sortedBy = 2 * width;
  }

  /** Places the rows of the series from `at` on. @returns the place behind the last. */
  place(at: number): number {
    const { places } = this;
    const [run, runCount, strays, strayCount] = [this.#run, this.#runCount, this.#strays, this.#strayCount];
    if (strayCount === 0) {
      for (let i = 0; i < runCount; i++) places[run[i]] = at + i;
      return at + runCount;
    }
    let [a, b, next, last] = [0, 0, at, -1];
    while (a < runCount || b < strayCount) {
      // A stray of the same time came after the row that it is a version of.
      const takesRun = a < runCount && (b === strayCount || !this.#isBefore(strays[b], run[a]));
      const row = takesRun ? run[a++] : strays[b++];
      const isVersion = last >= 0 && !this.#isBefore(last, row) && this.#versions !== 'all';
      if (isVersion && this.#versions === 'newest') places[last] = -1;
      places[row] = isVersion ? next - 1 : next++;
      last = row;
    }
    return next;
  }

  /** Leaves rows where they are, in order of arrival. @returns `to`. */
  keep(from: number, to: number): number {
    for (let row = from; row < to; row++) this.places[row] = row;
    return to;
  }

  #isBefore(a: number, b: number): boolean {
    const [highs, lows] = [this.#highs, this.#lows];
    const difference = highs[2 * a + 1] - highs[2 * b + 1];
    return difference < 0 || (difference === 0 && lows[2 * a] < lows[2 * b]);
  }

  #makeRoom(rows: number): void {
    if (rows <= this.#run.length) return;
    const length = Math.max(rows, this.#run.length * 2);
    this.#run = new Uint32Array(length);
    this.#strays = new Uint32Array(length);
    this.#spare = new Uint32Array(length);
  }
}
