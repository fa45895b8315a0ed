import { compareBytes } from '../promql/labels.js';
import type { Counted } from './sample-source.js';

/** The greatest of many counts, greatest first, equal ones by name: to sort a million for ten of them would hold up others. */
export class Greatest {
  readonly #limit: number;
  readonly #found: Counted[] = [];

  constructor(limit: number) {
    this.#limit = limit;
  }

  get counts(): readonly Counted[] {
    return this.#found;
  }

  add(name: string, value: number): void {
    const found = this.#found;
    let at = found.length;
    while (at > 0 && isBefore({ name, value }, found[at - 1])) at--;
    if (at === this.#limit) return;
    found.splice(at, 0, { name, value });
    if (found.length > this.#limit) found.pop();
  }
}

function isBefore(one: Counted, other: Counted): boolean {
  return one.value > other.value || (one.value === other.value && compareBytes(one.name, other.name) < 0);
}
