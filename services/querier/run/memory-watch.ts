import type { Clock, Timer } from '#shared/clock/clock';
import { AlmanacError } from '#shared/errors/almanac-error';

const LOOK_MS = 50;
/** A reading is reused for this long: it takes a tenth of a millisecond. */
const READING_MS = 20;
/** Consecutive checks above the limit before a query is ended: a single one may see garbage. */
const LOOKS = 2;
/** Checks that an ended query gets to release its memory before another one is ended. */
const LETTING_GO_LOOKS = 20;
/** Checks after which a finished query's memory has been collected, which needs some allocations. */
const COLLECTING_LOOKS = 4;
/** Fraction of the limit by which the process must have grown since a query began. */
const GROWTH = 0.1;

/** Dependencies of `MemoryWatch`. */
export interface MemoryWatchOptions {
  readonly clock: Clock;
  readonly kinds: readonly WatchedMemory[];
}

/** A kind of memory with a limit. */
export interface WatchedMemory {
  /** Usage at which queries are ended. */
  readonly limitBytes: number;
  readonly usedBytes: () => number;
}

type End = (error: AlmanacError) => void;

interface Watched {
  readonly end: End;
  /** Usage of each kind when it began. */
  readonly before: readonly number[];
}

/**
 * Ends queries, the youngest first, while more memory of a kind is used than allowed: the engine's own limit does not count
 * strings and lists created by functions, and a process exits when its heap is full. A query during which the process did not
 * grow is left alone, because released memory may stay with the process.
 */
export class MemoryWatch {
  readonly #options: MemoryWatchOptions;
  /** In the order in which they began. */
  readonly #running = new Set<Watched>();
  /** By kind: consecutive checks above the limit. */
  readonly #above: number[];
  #timer: Timer | undefined;
  #ended: { readonly query: Watched; looks: number } | undefined;
  /** Checks that do not count, unless usage is much higher than when a query was ended. */
  #restLooks = 0;
  #endedAt: readonly number[] = [];
  #lastUsed: readonly number[] = [];
  #lastReadMs = -Infinity;

  constructor(options: MemoryWatchOptions) {
    this.#options = options;
    this.#above = options.kinds.map(() => 0);
  }

  /** Starts watching a query. @returns a function to be called when it has ended. */
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

  /** Returns the usage of each kind, at most `READING_MS` old. */
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

  /** Returns whether usage is much higher than when a query was ended, so that another query is responsible too. */
  #hasGrown(): boolean {
    return this.#options.kinds.some(({ usedBytes, limitBytes }, kind) => {
      return usedBytes() > this.#endedAt[kind] + limitBytes * GROWTH;
    });
  }

  /** Ends one query at a time: the memory of the previous one may not be released yet. */
  #endYoungest(kind: number, used: number, limitBytes: number): void {
    if (this.#ended !== undefined) return;
    const query = [...this.#running].findLast(({ before }) => used - before[kind] > limitBytes * GROWTH);
    if (query === undefined) return;
    this.#ended = { query, looks: 0 };
    this.#endedAt = this.#options.kinds.map(({ usedBytes }) => usedBytes());
    query.end(
      new AlmanacError(
        'resources_exhausted',
        'query needs more memory than it may use: read a shorter time range, or raise memory.limit',
      ),
    );
  }
}
