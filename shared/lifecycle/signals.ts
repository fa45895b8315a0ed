import type { Logger } from '#shared/telemetry/log';

const EXIT_CODES = { SIGINT: 130, SIGTERM: 143 } as const;

export interface SignalOptions {
  /** Ends all work in good order. */
  readonly drain: () => Promise<void>;
  readonly log: Logger;
  /** Where signals come from and the exit goes to: `process`. */
  readonly process: Pick<NodeJS.Process, 'on' | 'removeListener'> & { exit(code: number): void };
}

/**
 * Drains at the first SIGTERM or SIGINT and exits with 0, or with 1 if draining failed. A second signal exits
 * at once with 128 + its number.
 *
 * @returns a function that takes the handlers away again.
 */
export function handleStopSignals({ drain, log, process }: SignalOptions): () => void {
  let isDraining = false;

  async function drainAndExit(): Promise<void> {
    try {
      await drain();
      process.exit(0);
    } catch (error) {
      log.error({ error }, 'shutdown failed');
      process.exit(1);
    }
  }

  function onSignal(signal: keyof typeof EXIT_CODES): void {
    if (isDraining) {
      log.warn({ signal }, 'stopped before everything was written');
      process.exit(EXIT_CODES[signal]);
      return;
    }
    isDraining = true;
    log.info({ signal }, 'shutting down');
    void drainAndExit();
  }

  process.on('SIGTERM', onSignal);
  process.on('SIGINT', onSignal);
  return () => {
    process.removeListener('SIGTERM', onSignal);
    process.removeListener('SIGINT', onSignal);
  };
}
