import { touches, type Band } from '#shared/segments/bands';

/** Largest number of bands. Beyond it, neighbours are joined, which only makes more rows look as if they had versions. */
const BANDS_MAX = 4096;

/** The times of batches of rows that came one after the other. */
export class BatchBands {
  /** Ascending; no two share a time. */
  #bands: Band[] = [];

  /** Reports whether a batch may have rows at some of the times. */
  touch(band: Band): boolean {
    const at = this.#firstFrom(band);
    return at < this.#bands.length && touches(this.#bands[at], band);
  }

  /** Adds the times of a batch. */
  add(band: Band): void {
    const from = this.#firstFrom(band);
    let to = from;
    let { first, last } = band;
    for (; to < this.#bands.length && touches(this.#bands[to], band); to++) {
      if (this.#bands[to].first < first) ({ first } = this.#bands[to]);
      if (this.#bands[to].last > last) ({ last } = this.#bands[to]);
    }
    this.#bands.splice(from, to - from, { first, last });
    if (this.#bands.length > BANDS_MAX) this.#halve();
  }

  /** Returns the position of the first band that does not end before another. */
  #firstFrom({ first }: Band): number {
    const newest = this.#bands.at(-1);
    // Most batches are later than all others.
    if (newest === undefined || newest.last < first) return this.#bands.length;
    let [low, high] = [0, this.#bands.length];
    while (low < high) {
      const middle = (low + high) >> 1;
      if (this.#bands[middle].last < first) low = middle + 1;
      else high = middle;
    }
    return low;
  }

  #halve(): void {
    const bands: Band[] = [];
    for (let i = 0; i < this.#bands.length; i += 2) {
      const { last } = this.#bands[Math.min(i + 1, this.#bands.length - 1)];
      bands.push({ first: this.#bands[i].first, last });
    }
    this.#bands = bands;
  }
}
