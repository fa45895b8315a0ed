import type { Clock } from '#shared/clock/clock';
import type { Logger } from '#shared/telemetry/log';
import type { Metrics } from '#shared/telemetry/metrics';

export interface LoopOptions {
  /** For logs and metrics, from a closed set: `ingester.flush`. */
  readonly name: string;
  /** Rest between the end of a turn and the start of the next. */
  readonly intervalMs: number;
  readonly clock: Clock;
  readonly log: Logger;
  readonly metrics: Metrics;
}

/**
 * Background work that comes again and again: one turn at a time, with a rest between turns.
 *
 * A turn that fails is logged and counted; the next one comes as usual.
 */
export class Loop {
  readonly #options: LoopOptions;
  readonly #turn: (signal: AbortSignal) => Promise<void>;
  readonly #stopping = new AbortController();
  #rest = new AbortController();
  #running: Promise<void> | undefined;

  /** @param turn gets a signal that aborts when the loop is to stop. */
  constructor(options: LoopOptions, turn: (signal: AbortSignal) => Promise<void>) {
    this.#options = options;
    this.#turn = turn;
  }

  /** Starts with a rest; a second call changes nothing. */
  start(): void {
    this.#running ??= this.#run();
  }

  /** Ends the present rest, so that the next turn begins now. During a turn it shortens the rest after it. */
  wake(): void {
    this.#rest.abort();
  }

  /** Resolves when the running turn, if any, has ended; no turn begins afterwards. */
  async stop(): Promise<void> {
    this.#stopping.abort();
    this.#rest.abort();
    await this.#running;
  }

  async #run(): Promise<void> {
    const { name, intervalMs, clock, log, metrics } = this.#options;
    const turns = metrics.counter({
      name: 'loop_turns_total',
      help: 'turns of background loops',
      labelNames: ['loop', 'result'],
    });
    const seconds = metrics.histogram({
      name: 'loop_turn_seconds',
      help: 'duration of a turn of background loops',
      labelNames: ['loop'],
      buckets: [0.001, 0.01, 0.1, 1, 10, 60, 300],
    });
    for (;;) {
      await clock.sleep(intervalMs, this.#rest.signal);
      if (this.#stopping.signal.aborted) return;
      this.#rest = new AbortController();
      const startedMs = clock.monotonicMs();
      try {
        await this.#turn(this.#stopping.signal);
        turns.inc({ loop: name, result: 'ok' });
      } catch (error) {
        turns.inc({ loop: name, result: 'failed' });
        log.error({ loop: name, error }, 'background work failed');
      }
      seconds.observe({ loop: name }, (clock.monotonicMs() - startedMs) / 1000);
    }
  }
}
