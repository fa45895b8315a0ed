import { AlmanacError } from '#shared/errors/almanac-error';

import { send, sendError, sendText } from '../answer.js';
import type { RequestContext } from '../request-context.js';

/** No route has the path. Programs that call the API get a body, others none. */
export function answerNotFound(context: RequestContext): void {
  if (!isApi(context.path)) return send(context, { status: 404 });
  if (isPrometheus(context.path)) return sendText(context, 404, '404 page not found\n');
  sendError(context, new AlmanacError('unsupported', `no such path: ${context.path.slice(0, 200)}`, { http: 404 }));
}

/** The path has routes, but none for this method. @param allowed methods as `Allow` lists them. */
export function answerMethodNotAllowed(context: RequestContext, allowed: string): void {
  const { method } = context.request;
  if (!isApi(context.path)) return send(context, { status: 405, headers: { allow: allowed } });
  context.response.setHeader('allow', allowed);
  if (isPrometheus(context.path)) return sendText(context, 405, 'Method Not Allowed\n');
  const text = `method ${method} is not allowed here, only ${allowed}`;
  sendError(context, new AlmanacError('unsupported', text, { http: 405 }));
}

function isApi(path: string): boolean {
  return path === '/v1' || path.startsWith('/v1/');
}

/** Where clients expect Prometheus's own words. */
function isPrometheus(path: string): boolean {
  return path.startsWith('/v1/prometheus/');
}
