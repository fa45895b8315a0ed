import { compareBytes } from '../series/labels.js';
import type { NamedCount } from './sample-source.js';

/**
 * Keeps the `limit` largest counts: largest first, ties by name. Sorts whenever it holds twice the limit, because sorting a
 * million counts at once for the first ten would block the event loop.
 */
export class LargestCounts {
  readonly #limit: number;
  readonly #found: NamedCount[] = [];
  /** The smallest kept count, once `limit` counts are kept. */
  #last: NamedCount | undefined;

  constructor(limit: number) {
    this.#limit = limit;
  }

  get counts(): readonly NamedCount[] {
    this.#cut();
    return this.#found;
  }

  add(name: string, value: number): void {
    const one = { name, value };
    if (this.#last !== undefined && order(one, this.#last) >= 0) return;
    this.#found.push(one);
    if (this.#found.length >= 2 * this.#limit) this.#cut();
  }

  #cut(): void {
    const found = this.#found;
    found.sort(order);
    if (found.length < this.#limit) return;
    found.length = this.#limit;
    this.#last = found.at(-1);
  }
}

function order(one: NamedCount, other: NamedCount): number {
  return other.value - one.value || compareBytes(one.name, other.name);
}
