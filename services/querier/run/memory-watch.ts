import type { Clock, Timer } from '#shared/clock/clock';
import { AlmanacError } from '#shared/errors/almanac-error';

const LOOK_MS = 50;

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
 * strings and lists that functions make.
 */
export class MemoryWatch {
  readonly #options: MemoryWatchOptions;
  /** In the order in which they began. */
  readonly #running = new Set<End>();
  #timer: Timer | undefined;

  constructor(options: MemoryWatchOptions) {
    this.#options = options;
  }

  /** Watches over a query. @returns to be called when it has ended. */
  enter(end: End): () => void {
    this.#running.add(end);
    this.#timer ??= this.#options.clock.after(LOOK_MS, () => this.#look());
    return () => void this.#running.delete(end);
  }

  #look(): void {
    const { clock, limitBytes, usedBytes } = this.#options;
    this.#timer = undefined;
    const youngest = [...this.#running].at(-1);
    if (youngest === undefined) return;
    if (usedBytes() > limitBytes) {
      this.#running.delete(youngest);
      youngest(new AlmanacError('resources_exhausted', 'query needs more memory than it may use'));
    }
    this.#timer = clock.after(LOOK_MS, () => this.#look());
  }
}
