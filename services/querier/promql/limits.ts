import { AlmanacError } from '#shared/errors/almanac-error';

/** What one query may use. */
export class Limits {
  readonly #samplesMax: number;
  readonly #signal: AbortSignal;
  #samples = 0;
  #peak = 0;

  constructor(samplesMax: number, signal: AbortSignal) {
    this.#samplesMax = samplesMax;
    this.#signal = signal;
  }

  /** Most samples that were held at once. */
  get peak(): number {
    return this.#peak;
  }

  /** Counts samples that are loaded or made. @throws `execute_query` above the limit. */
  add(samples: number): void {
    this.#samples += samples;
    this.#peak = Math.max(this.#peak, this.#samples);
    if (this.#samples <= this.#samplesMax) return;
    throw new AlmanacError(
      'execute_query',
      'query processing would load too many samples into memory in query execution',
    );
  }

  /** Counts samples that are held no more. */
  remove(samples: number): void {
    this.#samples -= samples;
  }

  /** @throws the call's error if the query is over. */
  check(): void {
    this.#signal.throwIfAborted();
  }
}
