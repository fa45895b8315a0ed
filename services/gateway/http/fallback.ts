import { AlmanacError } from '#shared/errors/almanac-error';

import { send, sendError } from '../answer.js';
import type { RequestContext } from '../request-context.js';

/** No route has the path. Programs that call the API get a body, others none. */
export function answerNotFound(context: RequestContext): void {
  if (!isApi(context.path)) return send(context, { status: 404 });
  sendError(context, new AlmanacError('unsupported', `no such path: ${context.path.slice(0, 200)}`, { http: 404 }));
}

/** The path has routes, but none for this method. @param allowed methods as `Allow` lists them. */
export function answerMethodNotAllowed(context: RequestContext, allowed: string): void {
  const { method } = context.request;
  if (!isApi(context.path)) return send(context, { status: 405, headers: { allow: allowed } });
  context.response.setHeader('allow', allowed);
  const text = `method ${method} is not allowed here, only ${allowed}`;
  sendError(context, new AlmanacError('unsupported', text, { http: 405 }));
}

function isApi(path: string): boolean {
  return path === '/v1' || path.startsWith('/v1/');
}
