import type { Clock } from '#shared/clock/clock';
import type { Logger } from '#shared/telemetry/log';
import type { Metrics } from '#shared/telemetry/metrics';

/** Name and interval of a `Loop`. */
export interface LoopOptions {
  /** For logs and metrics, from a closed set: `ingester.flush`. */
  readonly name: string;
  /** Pause between the end of a run and the start of the next. */
  readonly intervalMs: number;
  readonly clock: Clock;
  readonly log: Logger;
  readonly metrics: Metrics;
}

/**
 * Recurring background work: one run at a time, with a pause between runs.
 *
 * A failed run is logged and counted; the next one follows as usual.
 */
export class Loop {
  readonly #options: LoopOptions;
  readonly #work: (signal: AbortSignal) => Promise<void>;
  readonly #stopping = new AbortController();
  #rest = new AbortController();
  #running: Promise<void> | undefined;

  /** @param run gets a signal that aborts when the loop stops. */
  constructor(options: LoopOptions, run: (signal: AbortSignal) => Promise<void>) {
    this.#options = options;
    this.#work = run;
  }

  /** Starts with a pause; a second call has no effect. */
  start(): void {
    this.#running ??= this.#run();
  }

  /** Ends the present pause, so that the next run begins now. During a run it shortens the pause after it. */
  wake(): void {
    this.#rest.abort();
  }

  /** Resolves when the current run, if any, has ended; no run begins afterwards. */
  async stop(): Promise<void> {
    this.#stopping.abort();
    this.#rest.abort();
    await this.#running;
  }

  async #run(): Promise<void> {
    const { name, intervalMs, clock, log, metrics } = this.#options;
    const runs = metrics.counter({
      name: 'loop_turns_total',
      help: 'runs of background loops by loop and result',
      labelNames: ['loop', 'result'],
    });
    const seconds = metrics.histogram({
      name: 'loop_turn_seconds',
      help: 'duration of runs of background loops in seconds',
      labelNames: ['loop'],
      buckets: [0.001, 0.01, 0.1, 1, 10, 60, 300],
    });
    for (;;) {
      await clock.sleep(intervalMs, this.#rest.signal);
      if (this.#stopping.signal.aborted) return;
      this.#rest = new AbortController();
      const startedMs = clock.monotonicMs();
      try {
        await this.#work(this.#stopping.signal);
        runs.inc({ loop: name, result: 'ok' });
      } catch (error) {
        runs.inc({ loop: name, result: 'failed' });
        log.error({ loop: name, error }, 'background loop failed');
      }
      seconds.observe({ loop: name }, (clock.monotonicMs() - startedMs) / 1000);
    }
  }
}
