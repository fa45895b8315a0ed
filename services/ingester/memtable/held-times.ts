/** Rows and the positions that they are moved to. */
interface Placement {
  /** Ascending. */
  readonly rows: Uint32Array;
  readonly places: Uint32Array;
  readonly count: number;
}

/** Times of the rows of a batch in memory. */
export interface HeldTimes {
  readonly bytes: number;
  /** Returns the time of each row. */
  all(): BigInt64Array<ArrayBuffer>;
  /** Returns times so that each of the rows has one of them. */
  some(): Iterable<bigint>;
  /** `target[places[i]]` = time of row `rows[i]`. */
  move(target: BigInt64Array, placement: Placement): void;
}

/** With more runs per row than this, runs take more memory than times. */
const RUN_SHARE_MAX = 0.25;

/**
 * Returns a copy of the times. Scraped samples and points that were collected together have the same time, so most
 * batches have a few runs of equal times.
 */
export function holdTimes(times: BigInt64Array): HeldTimes {
  const words = wordsOf(times);
  const runsMax = Math.floor(times.length * RUN_SHARE_MAX);
  let runs = times.length === 0 ? 0 : 1;
  for (let at = 2; at < words.length && runs <= runsMax; at += 2) {
    if (words[at] !== words[at - 2] || words[at + 1] !== words[at - 1]) runs++;
  }
  return runs > runsMax ? new EachTime(times.slice()) : TimeRuns.of(times, runs);
}

class EachTime implements HeldTimes {
  readonly bytes: number;
  readonly #times: BigInt64Array<ArrayBuffer>;

  constructor(times: BigInt64Array<ArrayBuffer>) {
    this.#times = times;
    this.bytes = times.byteLength;
  }

  all(): BigInt64Array<ArrayBuffer> {
    return this.#times;
  }

  some(): Iterable<bigint> {
    return this.#times;
  }

  move(target: BigInt64Array, { rows, places, count }: Placement): void {
    const source = wordsOf(this.#times);
    const words = wordsOf(target);
    for (let i = 0; i < count; i++) {
      const from = 2 * rows[i];
      const to = 2 * places[i];
      words[to] = source[from];
      words[to + 1] = source[from + 1];
    }
  }
}

class TimeRuns implements HeldTimes {
  readonly #times: BigInt64Array<ArrayBuffer>;
  /** One past the last row of each run. */
  readonly #ends: Uint32Array<ArrayBuffer>;

  private constructor(times: BigInt64Array<ArrayBuffer>, ends: Uint32Array<ArrayBuffer>) {
    this.#times = times;
    this.#ends = ends;
  }

  /** @param runs their number. */
  static of(times: BigInt64Array, runs: number): TimeRuns {
    const runTimes = new BigInt64Array(runs);
    const ends = new Uint32Array(runs);
    const source = wordsOf(times);
    const words = wordsOf(runTimes);
    let run = 0;
    for (let row = 1; row <= times.length; row++) {
      const last = 2 * (row - 1);
      const isSame = row < times.length && source[last] === source[last + 2] && source[last + 1] === source[last + 3];
      if (isSame) continue;
      words[2 * run] = source[last];
      words[2 * run + 1] = source[last + 1];
      ends[run++] = row;
    }
    return new TimeRuns(runTimes, ends);
  }

  get bytes(): number {
    return this.#times.byteLength + this.#ends.byteLength;
  }

  all(): BigInt64Array<ArrayBuffer> {
    const times = new BigInt64Array(this.#ends.at(-1) ?? 0);
    let from = 0;
    for (const [run, end] of this.#ends.entries()) {
      times.fill(this.#times[run], from, end);
      from = end;
    }
    return times;
  }

  some(): Iterable<bigint> {
    return this.#times;
  }

  move(target: BigInt64Array, { rows, places, count }: Placement): void {
    const source = wordsOf(this.#times);
    const words = wordsOf(target);
    const ends = this.#ends;
    let run = 0;
    for (let i = 0; i < count; i++) {
      while (rows[i] >= ends[run]) run++;
      const to = 2 * places[i];
      words[to] = source[2 * run];
      words[to + 1] = source[2 * run + 1];
    }
  }
}

function wordsOf({ buffer, byteOffset, length }: BigInt64Array): Int32Array {
  return new Int32Array(buffer, byteOffset, length * 2);
}
