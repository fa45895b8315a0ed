import type { Clock, Timer } from '#shared/clock/clock';
import { AlmanacError } from '#shared/errors/almanac-error';

const LOOK_MS = 50;
/** Part of the limit by which the process must have grown since a query began. */
const GROWTH = 0.1;

export interface MemoryWatchOptions {
  readonly clock: Clock;
  /** Memory of the process at which queries are ended. */
  readonly limitBytes: number;
  /** Memory of the process now. */
  readonly usedBytes: () => number;
}

type End = (error: AlmanacError) => void;

/**
 * Ends queries, the youngest first, while the process is larger than it may be: the engine's own limit does not count
 * strings and lists that functions make. A query under which the process did not grow is let be, because memory that was
 * given back may stay with the process.
 */
export class MemoryWatch {
  readonly #options: MemoryWatchOptions;
  /** In the order in which they began, with the memory of the process then. */
  readonly #running = new Map<End, number>();
  #timer: Timer | undefined;

  constructor(options: MemoryWatchOptions) {
    this.#options = options;
  }

  /** Watches over a query. @returns to be called when it has ended. */
  enter(end: End): () => void {
    this.#running.set(end, this.#options.usedBytes());
    this.#timer ??= this.#options.clock.after(LOOK_MS, () => this.#look());
    return () => void this.#running.delete(end);
  }

  #look(): void {
    const { clock, limitBytes, usedBytes } = this.#options;
    this.#timer = undefined;
    if (this.#running.size === 0) return;
    const used = usedBytes();
    if (used > limitBytes) {
      const grown = [...this.#running].filter(([, before]) => used - before > limitBytes * GROWTH);
      const youngest = grown.at(-1)?.[0];
      if (youngest !== undefined) this.#running.delete(youngest);
      youngest?.(new AlmanacError('resources_exhausted', 'query needs more memory than it may use'));
    }
    this.#timer = clock.after(LOOK_MS, () => this.#look());
  }
}
