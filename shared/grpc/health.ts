import { status } from '@grpc/grpc-js';

import { checkCall, type Call } from '#shared/contracts/call';

import { StandardError } from './call-errors.js';

/** Numbers of the published contract. */
const SERVING = 1;
const NOT_SERVING = 2;
const SERVICE_UNKNOWN = 3;

/** Implements the standard health service; every service is "not serving" until set. */
export class Health {
  readonly #statuses = new Map<string, number>();
  readonly #watchers = new Set<() => void>();

  /** `names` are the known services; the empty name stands for the process as a whole. */
  constructor(names: readonly string[]) {
    for (const name of ['', ...names]) this.#statuses.set(name, NOT_SERVING);
  }

  /** Sets one service by its full name, or all services and the process. */
  set(isServing: boolean, fullName?: string): void {
    const names = fullName === undefined ? [...this.#statuses.keys()] : [fullName];
    for (const name of names) this.#statuses.set(name, isServing ? SERVING : NOT_SERVING);
    for (const wake of this.#watchers) wake();
  }

  check({ service }: { readonly service: string }): Promise<{ status: number }> {
    const known = this.#statuses.get(service);
    if (known !== undefined) return Promise.resolve({ status: known });
    return Promise.reject(new StandardError(status.NOT_FOUND, `service "${service}" is not served here`));
  }

  async *watch({ service }: { readonly service: string }, call: Call): AsyncGenerator<{ status: number }> {
    let told: number | undefined;
    for (;;) {
      const present = this.#statuses.get(service) ?? SERVICE_UNKNOWN;
      if (present === told) await this.#change(call.signal);
      else yield { status: (told = present) };
      checkCall(call);
    }
  }

  async #change(signal: AbortSignal): Promise<void> {
    let wake: () => void = () => undefined;
    try {
      await new Promise<void>((resolve) => {
        wake = resolve;
        this.#watchers.add(wake);
        signal.addEventListener('abort', wake, { once: true });
      });
    } finally {
      this.#watchers.delete(wake);
      signal.removeEventListener('abort', wake);
    }
  }
}
