import type { AlmanacError } from '#shared/errors/almanac-error';

import { errorHeaders, inBothNames, sendJson, visibleAscii } from '../answer.js';
import type { RequestContext } from '../request-context.js';

interface Kind {
  readonly type: string;
  readonly status: number;
}

const BAD_DATA: Kind = { type: 'bad_data', status: 400 };
const EXECUTION: Kind = { type: 'execution', status: 422 };
const INTERNAL: Kind = { type: 'internal', status: 500 };
const UNAVAILABLE: Kind = { type: 'unavailable', status: 503 };

/** What codes are called in Prometheus's HTTP API, where their HTTP status does not say it. */
const KINDS: Readonly<Partial<Record<AlmanacError['code'], Kind>>> = {
  execute_query: EXECUTION,
  resources_exhausted: EXECUTION,
  cancelled: { type: 'canceled', status: 499 },
  deadline_exceeded: { type: 'timeout', status: 503 },
  storage_unavailable: INTERNAL,
};

/** Texts that clients know for the end of a query. */
const ENDS: Readonly<Partial<Record<AlmanacError['code'], string>>> = {
  cancelled: 'query was canceled in expression evaluation',
  deadline_exceeded: 'query timed out in expression evaluation',
};

/** Sends an error in the envelope of Prometheus's HTTP API. */
export function sendPromError(context: RequestContext, error: AlmanacError): void {
  const { type, status } = kindOf(error);
  const text = promErrorText(error);
  const isLocked = status === 401 || status === 403;
  const body = {
    ...{ status: 'error', errorType: type, error: text, code: error.number },
    ...(isLocked ? { execution_time_ms: context.elapsedMs } : {}),
  };
  const isBusy = status === 429 || status === 503;
  sendJson(context, status, body, {
    ...errorHeaders(error),
    ...(isBusy ? { 'retry-after': String(error.retryAfterSeconds ?? 1) } : {}),
    ...inBothNames('err-msg', visibleAscii(text)),
    'x-almanac-query-id': context.requestId,
  });
}

/** The text of an error as Prometheus's clients know it. */
export function promErrorText(error: AlmanacError): string {
  return ENDS[error.code] ?? error.publicMessage;
}

export function promErrorStatus(error: AlmanacError): number {
  return kindOf(error).status;
}

function kindOf(error: AlmanacError): Kind {
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
