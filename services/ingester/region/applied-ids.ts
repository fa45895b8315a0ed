/**
 * Which batches of a region were applied, so that one that is sent again is answered and not applied twice.
 *
 * A batch id is the incarnation of its sender (8 bytes) and a counter (8 bytes, below 2^53) that the sender takes in
 * order for each region; so what was applied is a few ranges of counters. Of an incarnation with too many gaps the
 * oldest ranges are forgotten, and counters up to there are refused from then on.
 */
export class AppliedIds {
  readonly #incarnations = new Map<bigint, Ranges>();

  /** `applied`, `new`, or `forgotten`: too old to tell. */
  state(batchId: Uint8Array): 'applied' | 'new' | 'forgotten' {
    const { incarnation, counter } = split(batchId);
    const ranges = this.#incarnations.get(incarnation);
    if (ranges === undefined) return 'new';
    if (ranges.has(counter)) return 'applied';
    return counter <= ranges.floor ? 'forgotten' : 'new';
  }

  add(batchId: Uint8Array): void {
    const { incarnation, counter } = split(batchId);
    let ranges = this.#incarnations.get(incarnation);
    if (ranges === undefined) {
      if (this.#incarnations.size >= INCARNATIONS_MAX) this.#forgetOldest();
      ranges = new Ranges();
    } else {
      // Insertion order is order of last use.
      this.#incarnations.delete(incarnation);
    }
    this.#incarnations.set(incarnation, ranges);
    ranges.add(counter);
  }

  #forgetOldest(): void {
    for (const oldest of this.#incarnations.keys()) {
      this.#incarnations.delete(oldest);
      return;
    }
  }
}

/** Senders that are remembered; a sender gets a new incarnation at each start. */
const INCARNATIONS_MAX = 256;
const RANGES_MAX = 1024;

function split(batchId: Uint8Array): { incarnation: bigint; counter: number } {
  const view = new DataView(batchId.buffer, batchId.byteOffset, 16);
  return { incarnation: view.getBigUint64(0, true), counter: Number(view.getBigUint64(8, true)) };
}

/** Disjoint closed ranges of counters, ascending. */
class Ranges {
  /** Counters up to here, unless in a range, are forgotten. */
  floor = -1;
  #firsts: number[] = [];
  #lasts: number[] = [];

  has(counter: number): boolean {
    for (let i = this.#firsts.length - 1; i >= 0; i--) {
      if (counter > this.#lasts[i]) return false;
      if (counter >= this.#firsts[i]) return true;
    }
    return false;
  }

  add(counter: number): void {
    const last = this.#lasts.length - 1;
    if (last >= 0 && this.#lasts[last] === counter - 1) {
      this.#lasts[last] = counter;
      return;
    }
    let at = last + 1;
    while (at > 0 && this.#firsts[at - 1] > counter) at--;
    this.#firsts.splice(at, 0, counter);
    this.#lasts.splice(at, 0, counter);
    this.#join(at);
    this.#join(at - 1);
    if (this.#firsts.length > RANGES_MAX) {
      this.floor = this.#lasts[0];
      this.#firsts.shift();
      this.#lasts.shift();
    }
  }

  /** Makes one range of the ranges `at` and `at + 1` if they touch. */
  #join(at: number): void {
    if (at < 0 || at + 1 >= this.#firsts.length || this.#lasts[at] + 1 !== this.#firsts[at + 1]) return;
    this.#lasts[at] = this.#lasts[at + 1];
    this.#firsts.splice(at + 1, 1);
    this.#lasts.splice(at + 1, 1);
  }
}
