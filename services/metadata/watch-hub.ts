import type { Call } from '#shared/contracts/call';
import type { WatchEvent } from '#shared/contracts/gen/metadata';
import { AlmanacError } from '#shared/errors/almanac-error';

/** Events that are kept for watchers that were away for a moment. */
const HISTORY_MAX = 4096;
/** Events that may wait for one slow watcher; beyond it the watch ends and the watcher starts anew. */
const BACKLOG_MAX = 16_384;

/** Fans changes out to watchers, in order, each exactly once a watcher. */
export class WatchHub {
  readonly #history: WatchEvent[] = [];
  readonly #watchers = new Set<Watcher>();
  /** Versions above this one are in the history. */
  #historyFrom: bigint;

  constructor(catalogVersion: bigint) {
    this.#historyFrom = catalogVersion;
  }

  publish(event: WatchEvent): void {
    this.#history.push(event);
    if (this.#history.length > HISTORY_MAX) {
      const dropped = this.#history.splice(0, HISTORY_MAX / 2);
      this.#historyFrom = dropped[dropped.length - 1].catalogVersion;
    }
    for (const watcher of this.#watchers) watcher.push(event);
  }

  /**
   * All events after `afterVersion`, then new ones until the call is cancelled.
   *
   * @param everything the state as events, for a watcher whose version is no longer in the history.
   * @throws `resources_exhausted` if the watcher falls too far behind.
   */
  async *watch(afterVersion: bigint, everything: () => WatchEvent[], call: Call): AsyncIterable<WatchEvent> {
    const watcher = new Watcher(call.signal);
    const missed = this.#history.filter((event) => event.catalogVersion > afterVersion);
    for (const event of afterVersion < this.#historyFrom ? everything() : missed) watcher.push(event);
    this.#watchers.add(watcher);
    try {
      yield* watcher.events();
    } finally {
      this.#watchers.delete(watcher);
    }
  }
}

class Watcher {
  readonly #signal: AbortSignal;
  #pending: WatchEvent[] = [];
  #wake: (() => void) | undefined;
  #isBehind = false;

  constructor(signal: AbortSignal) {
    this.#signal = signal;
    signal.addEventListener('abort', () => this.#wake?.(), { once: true });
  }

  push(event: WatchEvent): void {
    if (this.#pending.length >= BACKLOG_MAX) this.#isBehind = true;
    else this.#pending.push(event);
    this.#wake?.();
  }

  async *events(): AsyncIterable<WatchEvent> {
    while (!this.#signal.aborted) {
      const events = this.#pending;
      this.#pending = [];
      yield* events;
      if (this.#isBehind) throw new AlmanacError('resources_exhausted', 'watch fell behind; start again');
      if (this.#pending.length > 0 || this.#signal.aborted) continue;
      await new Promise<void>((resolve) => (this.#wake = resolve));
      this.#wake = undefined;
    }
  }
}
