import type { Clock } from '#shared/clock/clock';
import type { Logger } from '#shared/telemetry/log';

const EXIT_CODES = { SIGINT: 130, SIGTERM: 143 } as const;

/** What to do at a stop signal. */
export interface SignalOptions {
  /** Ends all work gracefully. */
  readonly drain: () => Promise<void>;
  /** Longest time for the drain. */
  readonly timeoutMs: number;
  readonly clock: Clock;
  readonly log: Logger;
  /** Source of signals and target of the exit: `process`. */
  readonly process: Pick<NodeJS.Process, 'on' | 'removeListener'> & { exit(code: number): void };
}

/**
 * Drains at the first SIGTERM or SIGINT and exits with 0, or with 1 if draining failed. A second signal, or a drain that
 * exceeds the limit, exits at once with 128 + the signal's number.
 *
 * @returns a function that removes the handlers.
 */
export function handleStopSignals({ drain, timeoutMs, clock, log, process }: SignalOptions): () => void {
  let isDraining = false;

  async function drainAndExit(): Promise<void> {
    const startedMs = clock.monotonicMs();
    try {
      await drain();
      log.info({ durationMs: Math.round(clock.monotonicMs() - startedMs) }, 'stopped');
      process.exit(0);
    } catch (error) {
      log.error({ error }, 'shutdown failed');
      process.exit(1);
    }
  }

  function onSignal(signal: keyof typeof EXIT_CODES): void {
    if (isDraining) {
      log.warn({ signal }, 'second stop signal; exiting before the drain is complete');
      process.exit(EXIT_CODES[signal]);
      return;
    }
    isDraining = true;
    log.info({ signal }, 'shutting down');
    clock.after(timeoutMs, () => {
      log.warn({ timeoutMs }, 'shutdown.timeout exceeded; exiting before the drain is complete');
      process.exit(EXIT_CODES[signal]);
    });
    void drainAndExit();
  }

  process.on('SIGTERM', onSignal);
  process.on('SIGINT', onSignal);
  return () => {
    process.removeListener('SIGTERM', onSignal);
    process.removeListener('SIGINT', onSignal);
  };
}
