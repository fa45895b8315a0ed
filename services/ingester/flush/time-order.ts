/**
 * How versions of a row (same series and time) are resolved: only the newest is kept, all are merged at one position
 * with the newest last, or all are kept.
 */
export type Versions = 'newest' | 'merged' | 'all';

/** Rows that one step processes: a series may have millions, and requests must be served meanwhile. */
export const STEP_ROWS = 16_384;

/**
 * Sorts rows that did not arrive in time order: most did, so the others are sorted on their own and merged with them.
 */
export class TimeOrder {
  /** By position in order of arrival: position in time order, -1 for an older version that is left out. */
  readonly places: Int32Array;
  /** One past the last assigned position. */
  end = 0;
  readonly #lows: Uint32Array;
  readonly #highs: Int32Array;
  readonly #versions: Versions;
  /** Rows of the series that no step has processed yet. */
  #from = 0;
  #to = 0;
  /** Rows of the series in order of arrival: those that are later than all before them, and the others. */
  #run: Uint32Array = new Uint32Array(1024);
  #runCount = 0;
  #strays: Uint32Array = new Uint32Array(1024);
  #spare: Uint32Array = new Uint32Array(1024);
  #strayCount = 0;
  /**
   * Strays are sorted within blocks of this length; those of the next pass, up to `#merged`, in blocks twice as long.
   */
  #sortedBy = 1;
  #merged = 0;
  /** Progress of merging two lists: two blocks of strays, or finally the run and the strays. */
  #a = 0;
  #b = 0;
  /** The row that was placed last; -1: none. */
  #last = -1;

  /** @param times in order of arrival. */
  constructor(times: BigInt64Array, versions: Versions) {
    this.places = new Int32Array(times.length);
    this.#lows = new Uint32Array(times.buffer, times.byteOffset, times.length * 2);
    this.#highs = new Int32Array(times.buffer, times.byteOffset, times.length * 2);
    this.#versions = versions;
  }

  /** Starts a series whose rows `[from, to)` go to `at` and after; call `step` until it is done. */
  begin(from: number, to: number, at: number): void {
    this.#makeRoom(to - from);
    [this.#from, this.#to, this.end] = [from, to, at];
    [this.#runCount, this.#strayCount, this.#sortedBy, this.#merged] = [0, 0, 1, 0];
    [this.#a, this.#b, this.#last] = [0, 0, -1];
  }

  /**
   * Does a part of the work.
   * @returns whether it was the last.
   */
  step(): boolean {
    if (this.#from < this.#to) this.#take();
    else if (this.#sortedBy < this.#strayCount) this.#sort();
    else return this.#place();
    return false;
  }

  /**
   * Leaves rows where they are, in order of arrival.
   * @returns `to`.
   */
  keep(from: number, to: number): number {
    for (let row = from; row < to; row++) this.places[row] = row;
    return to;
  }

  #take(): void {
    const [run, strays, to] = [this.#run, this.#strays, Math.min(this.#from + STEP_ROWS, this.#to)];
    let [runCount, strayCount] = [this.#runCount, this.#strayCount];
    for (let row = this.#from; row < to; row++) {
      if (runCount === 0 || this.#isBefore(run[runCount - 1], row)) run[runCount++] = row;
      else strays[strayCount++] = row;
    }
    [this.#from, this.#runCount, this.#strayCount] = [to, runCount, strayCount];
  }

  #sort(): void {
    const [source, target, width, count] = [this.#strays, this.#spare, this.#sortedBy, this.#strayCount];
    const stop = Math.min(this.#merged + STEP_ROWS, count);
    let [a, b, to] = [this.#a, this.#b, this.#merged];
    while (to < stop) {
      const left = to - (to % (2 * width));
      const middle = Math.min(left + width, count);
      const end = Math.min(middle + width, count);
      if (to === left) [a, b] = [left, middle];
      for (const until = Math.min(end, stop); to < until; to++) {
        // Rows of one time stay in order of arrival.
        const takesLeft = a < middle && (b === end || !this.#isBefore(source[b], source[a]));
        target[to] = source[takesLeft ? a++ : b++];
      }
    }
    [this.#a, this.#b, this.#merged] = [a, b, to];
    if (to === count) this.#endPass();
  }

  #endPass(): void {
    [this.#strays, this.#spare] = [this.#spare, this.#strays];
    this.#sortedBy *= 2;
    [this.#a, this.#b, this.#merged] = [0, 0, 0];
  }

  #place(): boolean {
    const { places } = this;
    const [run, runCount, strays, strayCount] = [this.#run, this.#runCount, this.#strays, this.#strayCount];
    let [a, b, next, last] = [this.#a, this.#b, this.end, this.#last];
    if (strayCount === 0) {
      for (; a < runCount; a++) places[run[a]] = next++;
      this.end = next;
      return true;
    }
    for (let i = 0; i < STEP_ROWS && (a < runCount || b < strayCount); i++) {
      // A stray of the same time arrived after the row that it is a version of.
      const takesRun = a < runCount && (b === strayCount || !this.#isBefore(strays[b], run[a]));
      const row = takesRun ? run[a++] : strays[b++];
      const isVersion = last >= 0 && !this.#isBefore(last, row) && this.#versions !== 'all';
      if (isVersion && this.#versions === 'newest') places[last] = -1;
      places[row] = isVersion ? next - 1 : next++;
      last = row;
    }
    [this.#a, this.#b, this.end, this.#last] = [a, b, next, last];
    return a === runCount && b === strayCount;
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
