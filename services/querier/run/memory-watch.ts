import type { Clock, Timer } from '#shared/clock/clock';
import { AlmanacError } from '#shared/errors/almanac-error';

const LOOK_MS = 50;
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

/**
 * Ends queries, the youngest first, while there is more of a kind of memory than may be: the engine's own limit does not
 * count strings and lists that functions make, and a process whose heap is full ends. A query under which it did not
 * grow is let be, because memory that was given back may stay with the process.
 */
export class MemoryWatch {
  readonly #options: MemoryWatchOptions;
  /** In the order in which they began, with what was used of each kind then. */
  readonly #running = new Map<End, readonly number[]>();
  #timer: Timer | undefined;

  constructor(options: MemoryWatchOptions) {
    this.#options = options;
  }

  /** Watches over a query. @returns to be called when it has ended. */
  enter(end: End): () => void {
    const { clock, kinds } = this.#options;
    this.#running.set(
      end,
      kinds.map(({ usedBytes }) => usedBytes()),
    );
    this.#timer ??= clock.after(LOOK_MS, () => this.#look());
    return () => void this.#running.delete(end);
  }

  #look(): void {
    const { clock, kinds } = this.#options;
    this.#timer = undefined;
    if (this.#running.size === 0) return;
    for (const [kind, { limitBytes, usedBytes }] of kinds.entries()) {
      const used = usedBytes();
      if (used <= limitBytes) continue;
      const grown = [...this.#running].filter(([, before]) => used - before[kind] > limitBytes * GROWTH);
      const youngest = grown.at(-1)?.[0];
      if (youngest === undefined) continue;
      this.#running.delete(youngest);
      youngest(new AlmanacError('resources_exhausted', 'query needs more memory than it may use'));
    }
    this.#timer = clock.after(LOOK_MS, () => this.#look());
  }
}
