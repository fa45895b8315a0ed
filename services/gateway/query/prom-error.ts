import type { AlmanacError } from '#shared/errors/almanac-error';

import { errorHeaders, inBothNames, jsonReply, textReply, visibleAscii, type HttpReply } from '../reply.js';
import type { RequestContext } from '../request-context.js';

/** A kind of error in Prometheus's HTTP API. */
interface PromErrorKind {
  readonly type: string;
  readonly status: number;
}

const BAD_DATA: PromErrorKind = { type: 'bad_data', status: 400 };
const EXECUTION: PromErrorKind = { type: 'execution', status: 422 };
const INTERNAL: PromErrorKind = { type: 'internal', status: 500 };
const UNAVAILABLE: PromErrorKind = { type: 'unavailable', status: 503 };

/** Kinds of the codes whose HTTP status does not decide the kind. */
const KINDS: Readonly<Partial<Record<AlmanacError['code'], PromErrorKind>>> = {
  execute_query: EXECUTION,
  resources_exhausted: EXECUTION,
  cancelled: { type: 'canceled', status: 499 },
  deadline_exceeded: { type: 'timeout', status: 503 },
  storage_unavailable: INTERNAL,
};

/** Texts by which clients of Prometheus recognise the end of a query. */
const TEXTS: Readonly<Partial<Record<AlmanacError['code'], string>>> = {
  cancelled: 'query was canceled in expression evaluation',
  deadline_exceeded: 'query timed out in expression evaluation',
};

/** Makes an error reply of Prometheus's HTTP API. */
export function promFailure(context: RequestContext, error: AlmanacError): HttpReply {
  const { type, status } = kindOf(error);
  const text = textOf(error);
  const body = { status: 'error', errorType: type, error: text, code: error.number };
  const isDenied = status === 401 || status === 403;
  return jsonReply(status, isDenied ? { ...body, execution_time_ms: context.elapsedMs } : body, {
    ...errorHeaders(error, status),
    ...inBothNames('err-msg', visibleAscii(text)),
  });
}

/** Makes an error reply of remote read: a line of text, as in Prometheus. */
export function remoteReadFailure(_context: RequestContext, error: AlmanacError): HttpReply {
  const { status } = kindOf(error);
  const headers = { 'x-content-type-options': 'nosniff', ...errorHeaders(error, status) };
  return textReply(status, `${textOf(error)}\n`, headers);
}

function textOf(error: AlmanacError): string {
  return TEXTS[error.code] ?? error.publicMessage;
}

function kindOf(error: AlmanacError): PromErrorKind {
  const known = KINDS[error.code];
  if (known !== undefined) return known;
  const { httpStatus } = error;
  if (httpStatus === 401) return { type: 'unauthorized', status: 401 };
  if (httpStatus === 403) return { type: 'forbidden', status: 403 };
  if (httpStatus === 404) return { type: 'not_found', status: 404 };
  if (httpStatus === 429) return { ...UNAVAILABLE, status: 429 };
  if (httpStatus === 503) return UNAVAILABLE;
  return httpStatus < 500 ? { ...BAD_DATA, status: httpStatus } : INTERNAL;
}
