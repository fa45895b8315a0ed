import type { RequestContext } from './request-context.js';

/** Returns the media type of the body in lower case, without parameters; empty if the request names none. */
export function mediaTypeOf({ request }: RequestContext): string {
  const header = request.headers['content-type'] ?? '';
  const semicolon = header.indexOf(';');
  return (semicolon < 0 ? header : header.slice(0, semicolon)).trim().toLowerCase();
}
