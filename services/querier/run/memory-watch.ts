import type { Clock, Timer } from '#shared/clock/clock';
import { AlmanacError } from '#shared/errors/almanac-error';

const LOOK_MS = 50;
/** A reading is good for so long: it takes a tenth of a millisecond. */
const READING_MS = 20;
/** A look alone may see what is about to be collected as garbage. */
const LOOKS = 2;
/** How long a query that was ended may take to let go before another one is ended. */
const LETTING_GO_LOOKS = 20;
/** What a query held that has left is free after a collection, for which there have to be some allocations. */
const COLLECTING_LOOKS = 4;
/** Part of the limit by which the process must have grown since a query began. */
const GROWTH = 0.1;

export interface MemoryWatchOptions {
  readonly clock: Clock;
  readonly kinds: readonly WatchedMemory[];
}

export interface WatchedMemory {
  /** So much at which queries are ended. */
  readonly limitBytes: number;
  readonly usedBytes: () => number;
}

type End = (error: AlmanacError) => void;

interface Watched {
  readonly end: End;
  /** What was used of each kind when it began. */
  readonly before: readonly number[];
}

/**
 * Ends queries, the youngest first, while there is more of a kind of memory than may be: the engine's own limit does not
 * count strings and lists that functions make, and a process whose heap is full ends. A query under which it did not
 * grow is let be, because memory that was given back may stay with the process.
 */
export class MemoryWatch {
  readonly #options: MemoryWatchOptions;
  /** In the order in which they began. */
  readonly #running = new Set<Watched>();
  /** By kind: looks in a row that saw too much. */
  readonly #above: number[];
  #timer: Timer | undefined;
  #ended: { readonly query: Watched; looks: number } | undefined;
  /** Looks that count for nothing, unless there is much more by then than when a query was ended. */
  #restLooks = 0;
  #endedAt: readonly number[] = [];
  #lastUsed: readonly number[] = [];
  #lastReadMs = -Infinity;

  constructor(options: MemoryWatchOptions) {
    this.#options = options;
    this.#above = options.kinds.map(() => 0);
  }

  /** Watches over a query. @returns to be called when it has ended. */
  enter(end: End): () => void {
    const { clock } = this.#options;
    const query = { end, before: this.#used() };
    this.#running.add(query);
    this.#timer ??= clock.after(LOOK_MS, () => this.#look());
    return () => {
      this.#running.delete(query);
      if (this.#ended?.query !== query) return;
      this.#ended = undefined;
      this.#restLooks = COLLECTING_LOOKS;
    };
  }

  /** Of each kind, at most `READING_MS` old. */
  #used(): readonly number[] {
    const { clock, kinds } = this.#options;
    const nowMs = clock.monotonicMs();
    if (nowMs - this.#lastReadMs >= READING_MS) {
      this.#lastUsed = kinds.map(({ usedBytes }) => usedBytes());
      this.#lastReadMs = nowMs;
    }
    return this.#lastUsed;
  }

  #look(): void {
    const { clock, kinds } = this.#options;
    this.#timer = undefined;
    if (this.#running.size === 0) this.#restLooks = 0;
    if (this.#running.size === 0 || this.#restLooks > 0) this.#above.fill(0);
    if (this.#running.size === 0) return;
    if (this.#restLooks > 0 && !this.#hasGrown()) {
      this.#restLooks--;
      this.#timer = clock.after(LOOK_MS, () => this.#look());
      return;
    }
    this.#restLooks = 0;
    if (this.#ended !== undefined && ++this.#ended.looks > LETTING_GO_LOOKS) {
      this.#running.delete(this.#ended.query);
      this.#ended = undefined;
    }
    for (const [kind, { limitBytes, usedBytes }] of kinds.entries()) {
      const used = usedBytes();
      this.#above[kind] = used > limitBytes ? this.#above[kind] + 1 : 0;
      if (this.#above[kind] >= LOOKS) this.#endYoungest(kind, used, limitBytes);
    }
    this.#timer = clock.after(LOOK_MS, () => this.#look());
  }

  /** Whether there is much more than when a query was ended, so that it was not that one, or not that one alone. */
  #hasGrown(): boolean {
    return this.#options.kinds.some(({ usedBytes, limitBytes }, kind) => {
      return usedBytes() > this.#endedAt[kind] + limitBytes * GROWTH;
    });
  }

  /** One at a time: what the last one held may not be free yet. */
  #endYoungest(kind: number, used: number, limitBytes: number): void {
    if (this.#ended !== undefined) return;
    const query = [...this.#running].findLast(({ before }) => used - before[kind] > limitBytes * GROWTH);
    if (query === undefined) return;
    this.#ended = { query, looks: 0 };
    this.#endedAt = this.#options.kinds.map(({ usedBytes }) => usedBytes());
    query.end(new AlmanacError('resources_exhausted', 'query needs more memory than it may use'));
  }
}
