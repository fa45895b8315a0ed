import { AlmanacError } from '#shared/errors/almanac-error';
import type { Logger } from '#shared/telemetry/log';
import type { Counter } from '#shared/telemetry/metrics';

/** Files whose damage is remembered; a file that drops out is reported again. */
const REPORTED_MAX = 10_000;

/** Reports store files that are damaged, missing or unreadable: each once, however many queries need it. */
export class DamageLog {
  readonly #log: Logger;
  readonly #count: Counter;
  readonly #onDamage: (path: string) => void;
  readonly #reported = new Set<string>();

  /** @param onDamage called for each finding, also for repeated ones. */
  constructor(log: Logger, count: Counter, onDamage: (path: string) => void = () => undefined) {
    this.#log = log;
    this.#count = count;
    this.#onDamage = onDamage;
  }

  /** Logs and counts a damaged file. @param error the failure of reading it. */
  report(path: string, error: unknown): void {
    this.#onDamage(path);
    if (this.#reported.has(path)) return;
    if (this.#reported.size >= REPORTED_MAX) this.#reported.clear();
    this.#reported.add(path);
    this.#count.inc();
    this.#log.error({ file: path, reason: AlmanacError.from(error).message }, 'store file is unusable');
  }

  /** Removes a file from the reported ones after it was put back. */
  remove(path: string): void {
    this.#reported.delete(path);
  }
}
