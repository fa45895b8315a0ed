import { compareBytes } from '../series/labels.js';
import type { NamedCount } from './sample-source.js';

/**
 * The greatest of many counts, greatest first, equal ones by name: to sort a million for ten of them would hold up others.
 * Twice as many as are wanted are sorted now and then, in whatever order they come.
 */
export class LargestCounts {
  readonly #limit: number;
  readonly #found: NamedCount[] = [];
  /** The last of those that are wanted, once there are enough. */
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
