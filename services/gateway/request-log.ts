import type { AlmanacError } from '#shared/errors/almanac-error';
import type { Logger } from '#shared/telemetry/log';

import type { RequestContext } from './request-context.js';

/** Logs requests and their failures. */
export class RequestLog {
  readonly #log: Logger;

  constructor(log: Logger) {
    this.#log = log;
  }

  /** Logs one line for each request at level debug; query texts are left out, since they may contain passwords. */
  access(context: RequestContext, code: number): void {
    if (!this.#log.isEnabled('debug')) return;
    const { request, requestId, path, route, database, elapsedMs } = context;
    const fields = { requestId, method: request.method, path, route, database, code, durationMs: elapsedMs };
    this.#log.debug(fields, 'request');
  }

  /** Logs a failure that the client did not cause. */
  failure(context: RequestContext, error: AlmanacError): void {
    const { code, message } = error;
    if (error.httpStatus < 500 || code === 'cancelled') return;
    const fields = { requestId: context.requestId, route: context.route, code, reason: message };
    if (code === 'internal' || code === 'unknown') {
      this.#log.error({ ...fields, error: error.cause ?? error }, 'request failed');
    } else this.#log.warn(fields, 'request failed');
  }
}
