import type { KnownKey, SeriesCache } from './series-cache.js';

/** After so many other keys in a row, the one that was expected is given up. */
const STRAYS_MAX = 8;

/**
 * Guesses which key comes next, from the one that came behind the last one before.
 *
 * A key that comes in between, as late rows do, must not spoil the guesses for those around it: the one that was
 * expected is then expected still, and an order is learned anew only when that one does not come soon.
 */
export class KeyOrder {
  /** What came behind the last key before. */
  guess: KnownKey | undefined;
  /** What was expected when strays began to come, and its place is still open. */
  waiting: KnownKey | undefined = undefined;
  #previous: KnownKey | undefined = undefined;
  /** The key that `waiting` was to follow, and the one that followed instead. */
  #origin: KnownKey | undefined = undefined;
  #firstStray: KnownKey | undefined = undefined;
  #strays = 0;
  readonly #cache: SeriesCache;
  #epoch: number;

  /** Begins with what came first in the last request. */
  constructor(cache: SeriesCache) {
    this.#cache = cache;
    this.#epoch = cache.epoch;
    this.guess = cache.guess;
  }

  /** What comes if the guess is left out this time. */
  get afterGuess(): KnownKey | undefined {
    return this.guess?.next;
  }

  /** Takes note that `known` came. */
  follow(known: KnownKey): void {
    if (known === this.waiting) this.waiting = undefined;
    else if (known !== this.guess && known !== this.afterGuess) this.#stray(known);
    else if (this.waiting !== undefined) this.#giveUp();
    this.#previous = known;
    this.guess = known.next;
  }

  /** What to begin the next request with. */
  keep(): void {
    if (this.#epoch === this.#cache.epoch) this.#cache.guess = this.waiting ?? this.guess;
  }

  /** A chain of guesses would keep keys in memory that the cache has let go. */
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

  /** Those that came instead are the order now. */
  #giveUp(): void {
    if (this.#origin !== undefined) this.#origin.next = this.#firstStray;
    this.waiting = undefined;
  }
}
