type Listener = Parameters<AbortSignal['addEventListener']>[1];

/**
 * The signal of a call, and what aborts it. Node.js's own signals are slow objects, which take a fifteenth of a small query.
 * Functions that demand one of these, such as `fetch`, do not accept it.
 */
export class CallSignal implements AbortSignal {
  aborted = false;
  reason: unknown = undefined;
  onabort: AbortSignal['onabort'] = null;
  #listeners: Listener[] = [];

  /** Aborts, unless that has happened. */
  abort(reason: unknown): void {
    if (this.aborted) return;
    this.aborted = true;
    this.reason = reason;
    this.dispatchEvent(new Event('abort'));
  }

  throwIfAborted(): void {
    if (this.aborted) throw this.reason;
  }

  /** @param type only `abort` happens, and only once */
  addEventListener(type: string, listener: Listener): void {
    if (type === 'abort' && !this.#listeners.includes(listener)) this.#listeners.push(listener);
  }

  removeEventListener(type: string, listener: Listener): void {
    const i = type === 'abort' ? this.#listeners.indexOf(listener) : -1;
    if (i >= 0) this.#listeners.splice(i, 1);
  }

  dispatchEvent(event: Event): boolean {
    if (event.type !== 'abort') return true;
    const listeners = this.#listeners;
    this.#listeners = [];
    this.onabort?.(event);
    for (const listener of listeners) {
      if (typeof listener === 'function') listener(event);
      else listener.handleEvent(event);
    }
    return true;
  }
}
