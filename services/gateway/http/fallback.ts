import { AlmanacError } from '#shared/errors/almanac-error';

import { errorReply, send, textReply } from '../reply.js';
import type { RequestContext } from '../request-context.js';

/** Replies to a path without a route. Paths of the API get a body, others none. */
export function replyNotFound(context: RequestContext): void {
  context.request.resume();
  if (!isApi(context.path)) return send(context, { status: 404 });
  if (isPrometheus(context.path)) return send(context, textReply(404, '404 page not found\n'));
  const text = `no such path: ${context.path.slice(0, 200)}`;
  send(context, errorReply(context, new AlmanacError('unsupported', text, { http: 404 })));
}

/** Replies to a path that has routes, but none for the method. @param allowed value of the header `Allow`. */
export function replyMethodNotAllowed(context: RequestContext, allowed: string): void {
  const { method } = context.request;
  context.request.resume();
  if (!isApi(context.path)) return send(context, { status: 405, headers: { allow: allowed } });
  context.response.setHeader('allow', allowed);
  if (isPrometheus(context.path)) return send(context, textReply(405, 'Method Not Allowed\n'));
  const text = `method ${method} is not allowed here, only ${allowed}`;
  send(context, errorReply(context, new AlmanacError('unsupported', text, { http: 405 })));
}

function isApi(path: string): boolean {
  return path === '/v1' || path.startsWith('/v1/');
}

/** Whether clients expect the replies of Prometheus. */
function isPrometheus(path: string): boolean {
  return path.startsWith('/v1/prometheus/');
}
