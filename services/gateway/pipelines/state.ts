import { createHash } from 'node:crypto';

import { LRUCache } from 'lru-cache';

import type { Item } from './item.js';
import { printValue } from './values/value.js';

/** Values that the processors of all pipelines remember; the least recently used one is removed first. */
const ENTRIES_MAX = 200_000;
const KEY_LENGTH_MAX = 64;

/** What a processor remembers of one value. */
export interface StateEntry {
  /** Time in milliseconds that never goes back. */
  atMs: number;
  amount: number;
}

/** What processors remember between requests, in bounded memory. */
export class PipelineState {
  /** Made for the first processor that remembers anything, because it takes 5 MB from the start. */
  #entries: LRUCache<string, StateEntry> | undefined;
  #owners = 0;

  /** Returns the state of one processor. */
  own(): ProcessorState {
    this.#entries ??= new LRUCache({ max: ENTRIES_MAX });
    return new ProcessorState(this.#entries, `${this.#owners++} `);
  }
}

/** What one processor remembers. */
export class ProcessorState {
  readonly #entries: LRUCache<string, StateEntry>;
  readonly #prefix: string;

  constructor(entries: LRUCache<string, StateEntry>, prefix: string) {
    this.#entries = entries;
    this.#prefix = prefix;
  }

  get(key: string): StateEntry | undefined {
    return this.#entries.get(this.#prefix + key);
  }

  set(key: string, entry: StateEntry): void {
    this.#entries.set(this.#prefix + key, entry);
  }

  /** Removes an entry, unless another one has replaced it. */
  remove(key: string, entry: StateEntry): void {
    if (this.#entries.peek(this.#prefix + key) === entry) this.#entries.delete(this.#prefix + key);
  }
}

/**
 * Returns the values of fields as a short text that is different for other values.
 *
 * @param names of the fields, if they are not always the same.
 */
export function stateKey(item: Item, slots: readonly number[], names = ''): string {
  let key = names;
  for (const slot of slots) {
    const value = item.get(slot);
    // A number and a text with its digits are different values.
    const text = value === undefined ? '' : `${typeof value}:${printValue(value)}`;
    key += `${text.length}:${text}`;
  }
  return key.length <= KEY_LENGTH_MAX ? key : createHash('sha256').update(key).digest('base64');
}
