import type { KnownKey, LineCache } from './line-cache.js';

/** Number of other keys in a row after which the expected key is given up. */
const STRAYS_MAX = 8;

/**
 * Guesses which key comes next: the one that followed the last key in an earlier request.
 *
 * A key in between, as of a late row, must not spoil the guesses for those around it: the expected key stays expected,
 * and a new order is learned only if that key does not come soon.
 */
export class KeyOrder {
  /** The key that followed the last key earlier. */
  guess: KnownKey | undefined;
  /** The key that was expected when the first stray came, and that has not come yet. */
  waiting: KnownKey | undefined = undefined;
  #previous: KnownKey | undefined = undefined;
  /** The key that `waiting` should have followed, and the one that followed instead. */
  #origin: KnownKey | undefined = undefined;
  #firstStray: KnownKey | undefined = undefined;
  #strays = 0;
  readonly #cache: LineCache;
  #epoch: number;

  /** Starts with the guess of the cache. */
  constructor(cache: LineCache) {
    this.#cache = cache;
    this.#epoch = cache.epoch;
    this.guess = cache.guess;
  }

  /** The key that comes if the guess is left out this time. */
  get afterGuess(): KnownKey | undefined {
    return this.guess?.next;
  }

  /** Notes that `known` came. */
  follow(known: KnownKey): void {
    if (known === this.waiting) this.waiting = undefined;
    else if (known !== this.guess && known !== this.afterGuess) this.#stray(known);
    else if (this.waiting !== undefined) this.#giveUp();
    this.#previous = known;
    this.guess = known.next;
  }

  /** Makes the guess for the next request. */
  keep(): void {
    if (this.#epoch === this.#cache.epoch) this.#cache.guess = this.waiting ?? this.guess;
  }

  /** A chain of guesses would keep keys in memory that the cache has dropped. */
  refresh(): void {
    if (this.#epoch === this.#cache.epoch) return;
    this.#epoch = this.#cache.epoch;
    this.guess = undefined;
    this.waiting = undefined;
    this.#previous = undefined;
    this.#origin = undefined;
    this.#firstStray = undefined;
  }

  #stray(known: KnownKey): void {
    const previous = this.#previous;
    if (previous === undefined) return;
    if (this.waiting === undefined && this.guess !== undefined) {
      this.waiting = this.guess;
      this.#origin = previous;
      this.#firstStray = known;
      this.#strays = 1;
      return;
    }
    previous.next = known;
    if (this.waiting !== undefined && ++this.#strays > STRAYS_MAX) this.#giveUp();
  }

  /** Takes the keys that came instead as the new order. */
  #giveUp(): void {
    if (this.#origin !== undefined) this.#origin.next = this.#firstStray;
    this.waiting = undefined;
  }
}
