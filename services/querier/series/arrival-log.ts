/** A batch of rows that a scan delivered. */
interface Arrival {
  /** The batch covers the sequences `(from, to]`. */
  readonly from: bigint;
  readonly to: bigint;
  /** Lower bound of the rows' times, in milliseconds. */
  readonly firstMs: number;
}

/**
 * Number of arrivals above which neighbours are merged and, if that is not enough, the oldest are dropped. Both only lower
 * the reported bound, so results stay correct.
 */
const ARRIVALS_MAX = 1024;

/** Records the least time of the rows that arrived in each range of sequences, to find which results new rows can change. */
export class ArrivalLog {
  #arrivals: Arrival[] = [];

  /** Number of recorded arrivals. */
  get length(): number {
    return this.#arrivals.length;
  }

  /** Records that the rows of the sequences `(from, to]` have times of at least `firstMs`. */
  add(from: bigint, to: bigint, firstMs: number): void {
    this.#arrivals.push({ from, to, firstMs });
    if (this.#arrivals.length > ARRIVALS_MAX) this.#arrivals = mergeNeighbours(this.#arrivals).slice(-ARRIVALS_MAX);
  }

  /**
   * Returns a lower bound of the times of the rows of the sequences `(from, to]`, in milliseconds: -Infinity if some of
   * them were not recorded, Infinity if the range is empty.
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

function mergeNeighbours(arrivals: readonly Arrival[]): Arrival[] {
  const pairs: Arrival[] = [];
  for (let i = 0; i < arrivals.length; i += 2) {
    const first = arrivals[i];
    const second = arrivals.at(i + 1) ?? first;
    const isGap = second.from > first.to;
    // Merging across a gap would claim sequences that were never recorded.
    if (isGap) pairs.push(first, second);
    else pairs.push({ from: first.from, to: second.to, firstMs: Math.min(first.firstMs, second.firstMs) });
  }
  return pairs;
}
