import { callError, type Call } from '#shared/contracts/call';
import type { WatchEvent } from '#shared/contracts/gen/metadata';
import { AlmanacError } from '#shared/errors/almanac-error';

/**
 * Limits of the events, and of the segments in them, kept for watchers that were disconnected for a moment. A manifest
 * may have thousands of segments.
 */
const HISTORY_MAX = { events: 4096, segments: 65_536 };
/** The same for what may wait for one slow watcher. Beyond it the watch ends and the watcher starts again. */
const BACKLOG_MAX = { events: 16_384, segments: 262_144 };

/** Sends changes to all watchers, in order, each exactly once per watcher. */
export class WatchHub {
  readonly #history: WatchEvent[] = [];
  #historySegments = 0;
  readonly #watchers = new Set<Watcher>();
  /** Versions above this one are in the history. */
  #historyFrom: bigint;
  #version: bigint;
  #isClosed = false;

  constructor(catalogVersion: bigint) {
    this.#historyFrom = catalogVersion;
    this.#version = catalogVersion;
  }

  publish(event: WatchEvent): void {
    this.#version = event.catalogVersion;
    this.#history.push(event);
    this.#historySegments += segmentsOf(event);
    if (this.#history.length > HISTORY_MAX.events || this.#historySegments > HISTORY_MAX.segments) this.#forget();
    for (const watcher of this.#watchers) watcher.push(event);
  }

  /** Drops the older half of the history. */
  #forget(): void {
    const dropped = this.#history.splice(0, Math.ceil(this.#history.length / 2));
    for (const event of dropped) this.#historySegments -= segmentsOf(event);
    this.#historyFrom = dropped[dropped.length - 1].catalogVersion;
  }

  /**
   * Returns all events after `afterVersion`, then new ones until the call is cancelled.
   *
   * @param everything returns the state as events, for a watcher whose version is not in the history, or not yet: the
   *   file may have been replaced by an older copy.
   * @throws `resources_exhausted` if the watcher is too slow; `external` when the hub closes; the call's error.
   */
  async *watch(afterVersion: bigint, everything: () => WatchEvent[], call: Call): AsyncIterable<WatchEvent> {
    if (this.#isClosed) throw stopped();
    const isInHistory = afterVersion >= this.#historyFrom && afterVersion <= this.#version;
    const missed = isInHistory ? this.#history.filter((event) => event.catalogVersion > afterVersion) : everything();
    const watcher = new Watcher(call.signal);
    this.#watchers.add(watcher);
    try {
      // Events that happen meanwhile wait in the watcher.
      yield* missed;
      yield* watcher.events();
    } finally {
      this.#watchers.delete(watcher);
    }
  }

  /** Ends all watches, and refuses new ones. */
  close(): void {
    this.#isClosed = true;
    for (const watcher of this.#watchers) watcher.end(stopped());
  }
}

class Watcher {
  readonly #signal: AbortSignal;
  #pending: WatchEvent[] = [];
  #pendingSegments = 0;
  #wake: (() => void) | undefined;
  #end: AlmanacError | undefined;

  constructor(signal: AbortSignal) {
    this.#signal = signal;
    signal.addEventListener('abort', () => this.#wake?.(), { once: true });
  }

  push(event: WatchEvent): void {
    if (this.#pending.length >= BACKLOG_MAX.events || this.#pendingSegments > BACKLOG_MAX.segments) {
      this.end(new AlmanacError('resources_exhausted', 'the watcher is too slow: watch again'));
    } else {
      this.#pending.push(event);
      this.#pendingSegments += segmentsOf(event);
      this.#wake?.();
    }
  }

  /** Ends the watch with an error after the waiting events. */
  end(error: AlmanacError): void {
    this.#end ??= error;
    this.#wake?.();
  }

  /** Returns waiting events, then each new one; ends only with an error. */
  async *events(): AsyncIterable<WatchEvent> {
    for (;;) {
      if (this.#signal.aborted) throw callError(this.#signal);
      const events = this.#pending;
      this.#pending = [];
      this.#pendingSegments = 0;
      yield* events;
      if (this.#pending.length > 0) continue;
      if (this.#end !== undefined) throw this.#end;
      if (this.#signal.aborted) continue;
      await new Promise<void>((resolve) => (this.#wake = resolve));
      this.#wake = undefined;
    }
  }
}

function segmentsOf({ manifest }: WatchEvent): number {
  return manifest?.segments.length ?? 0;
}

function stopped(): AlmanacError {
  return new AlmanacError('external', 'metadata is stopped', { retryAfterSeconds: 1 });
}
