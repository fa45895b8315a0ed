import { AlmanacError } from '#shared/errors/almanac-error';
import type { Logger } from '#shared/telemetry/log';
import type { Counter } from '#shared/telemetry/metrics';

/** Files whose damage is remembered; one that is forgotten is told again. */
const TOLD_MAX = 10_000;

/** Tells of files of the store that are damaged, missing or unreadable: each once, however many questions need it. */
export class DamageLog {
  readonly #log: Logger;
  readonly #count: Counter;
  readonly #onDamage: (path: string) => void;
  readonly #told = new Set<string>();

  /** @param onDamage hears of each finding, also of what was told before. */
  constructor(log: Logger, count: Counter, onDamage: (path: string) => void = () => undefined) {
    this.#log = log;
    this.#count = count;
    this.#onDamage = onDamage;
  }

  /** @param error what reading the file failed with. */
  tell(path: string, error: unknown): void {
    this.#onDamage(path);
    if (this.#told.has(path)) return;
    if (this.#told.size >= TOLD_MAX) this.#told.clear();
    this.#told.add(path);
    this.#count.inc();
    this.#log.error({ file: path, reason: AlmanacError.from(error).message }, 'file of the store cannot be used');
  }

  /** The file was put back. */
  forget(path: string): void {
    this.#told.delete(path);
  }
}
