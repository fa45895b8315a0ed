/** Rows that came together. */
interface Arrival {
  /** Their sequences are those of `(from, to]`. */
  readonly from: bigint;
  readonly to: bigint;
  /** The earliest time of any. */
  readonly firstMs: number;
}

/** Beyond this neighbours are joined, and of what cannot be the oldest go, which makes answers more careful, never wrong. */
const ARRIVALS_MAX = 1024;

/** How old the rows of a region were when they were first seen, so that it can be told what a read does not change. */
export class ArrivalLog {
  #arrivals: Arrival[] = [];

  /** How much is kept. */
  get length(): number {
    return this.#arrivals.length;
  }

  note(from: bigint, to: bigint, firstMs: number): void {
    this.#arrivals.push({ from, to, firstMs });
    if (this.#arrivals.length > ARRIVALS_MAX) this.#arrivals = joined(this.#arrivals).slice(-ARRIVALS_MAX);
  }

  /**
   * A time before which no row of the sequences `(from, to]` lies: -Infinity if not all of them were seen, Infinity if
   * there are none.
   */
  firstTimeOf(from: bigint, to: bigint): number {
    let firstMs = Infinity;
    let coveredTo = from;
    for (const arrival of this.#arrivals) {
      if (arrival.to <= from) continue;
      if (coveredTo >= to) break;
      if (arrival.from > coveredTo) return -Infinity;
      firstMs = Math.min(firstMs, arrival.firstMs);
      if (arrival.to > coveredTo) coveredTo = arrival.to;
    }
    return coveredTo >= to ? firstMs : -Infinity;
  }
}

function joined(arrivals: readonly Arrival[]): Arrival[] {
  const pairs: Arrival[] = [];
  for (let i = 0; i < arrivals.length; i += 2) {
    const first = arrivals[i];
    const second = arrivals.at(i + 1) ?? first;
    const isGap = second.from > first.to;
    // A gap must stay one.
    if (isGap) pairs.push(first, second);
    else pairs.push({ from: first.from, to: second.to, firstMs: Math.min(first.firstMs, second.firstMs) });
  }
  return pairs;
}
