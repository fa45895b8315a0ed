import { AlmanacError } from '#shared/errors/almanac-error';

import { mediaTypeOf } from '../../media-type.js';
import type { RequestContext } from '../../request-context.js';

const JSON_TYPE = 'application/json';
const PROTOBUF_TYPES = new Set(['', 'application/x-protobuf', 'application/protobuf']);

/** Whether the body is JSON; replies have the encoding of the request. */
export function isJsonRequest({ request }: RequestContext): boolean {
  return mediaTypeOf(request.headers['content-type']) === JSON_TYPE;
}

/** @throws `unsupported` with status 415 if the body is neither protobuf nor JSON. */
export function checkContentType({ request }: RequestContext): void {
  const type = mediaTypeOf(request.headers['content-type']);
  if (type === JSON_TYPE || PROTOBUF_TYPES.has(type)) return;
  const text = `content type "${type}" is not supported: use application/x-protobuf or application/json`;
  throw new AlmanacError('unsupported', text, { http: 415 });
}
