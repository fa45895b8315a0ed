import type { Clock, Timer } from '#shared/clock/clock';
import type { LogFilterText } from '#shared/lifecycle/role';

/** The filter of the log, and when it ends. */
interface LogFilterState {
  readonly current: string;
  /** Milliseconds since 1970; 0: never. */
  readonly untilMs: number;
  /** The filter that follows; empty: none. */
  readonly next: string;
}

/** Changes the filter of the log, for good or for some time. */
export class TimedLogFilter {
  readonly #filter: LogFilterText;
  readonly #clock: Clock;
  #pending: { readonly timer: Timer; readonly untilMs: number; readonly next: string } | undefined = undefined;

  constructor(filter: LogFilterText, clock: Clock) {
    this.#filter = filter;
    this.#clock = clock;
  }

  get state(): LogFilterState {
    const { untilMs = 0, next = '' } = this.#pending ?? {};
    return { current: this.#filter.read(), untilMs, next };
  }

  /**
   * Changes the filter.
   *
   * @param forMs after which the filter before it is restored, which is never one that was itself for some time; 0: never.
   * @throws `invalid_arguments` for a filter that cannot be parsed; nothing has changed then.
   */
  change(text: string, forMs: number): void {
    const next = this.#pending?.next ?? this.#filter.read();
    this.#filter.change(text);
    this.#pending?.timer.cancel();
    this.#pending = undefined;
    if (forMs === 0) return;
    const timer = this.#clock.after(forMs, () => {
      this.#pending = undefined;
      this.#filter.change(next);
    });
    this.#pending = { timer, untilMs: this.#clock.nowMs() + forMs, next };
  }
}
