import type { Logger } from '#shared/telemetry/log';

import type { RequestContext } from '../request-context.js';

/** One line for each request; query texts are left out, they may hold passwords. */
export function logAccess(log: Logger, context: RequestContext, code: number): void {
  if (!log.isEnabled('debug')) return;
  const { request, requestId, path, route, database, elapsedMs } = context;
  const fields = { requestId, method: request.method, path, route, database, code, durationMs: elapsedMs };
  log.debug(fields, 'request');
}
