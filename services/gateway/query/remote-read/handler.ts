import type { Config } from '#shared/config/schema';
import type { Call } from '#shared/contracts/call';
import type { PromReadPart, QuerierService } from '#shared/contracts/gen/querier';
import { AlmanacError } from '#shared/errors/almanac-error';

import { errorHeaders, send } from '../../answer.js';
import { databaseOfWrite } from '../../protocols/common/database.js';
import type { BodyEncoding } from '../../protocols/protocol.js';
import type { Handler, RequestContext } from '../../request-context.js';
import { promErrorStatus, promErrorText } from '../prom-answer.js';
import { promTimeoutMs } from '../prometheus.js';
import type { SqlDeps } from '../sql.js';
import { sendParts, streamAnswer } from '../stream-answer.js';
import { readRequest, type ReadRequest } from './request.js';
import { wholeAnswer, type AnswerBudget } from './whole-answer.js';

export interface RemoteReadDeps extends Pick<SqlDeps, 'readBody' | 'checkReady' | 'onFailure'> {
  readonly config: Config;
  readonly querier: QuerierService;
  /** For answers that must be whole before they are sent. */
  readonly budget: AnswerBudget;
}

/** What the body of a remote read is packed in. */
export const READ_ENCODING: BodyEncoding = 'snappy';

const BODY_BYTES_MAX = 32 * 1024 * 1024;
const WHOLE_HEADERS = { 'content-type': 'application/x-protobuf', 'content-encoding': 'snappy' } as const;
const STREAMED_TYPE = 'application/x-streamed-protobuf; proto=prometheus.ChunkedReadResponse';

/** `POST /v1/prometheus/read`: samples as they are stored (docs/protocols/prometheus-remote-read.md). */
export function remoteReadHandler(deps: RemoteReadDeps): Handler {
  return async (context) => {
    try {
      await handle(context, deps);
    } catch (thrown) {
      const error = AlmanacError.from(thrown);
      deps.onFailure(context, error);
      context.request.resume();
      // A half-sent answer cannot be taken back: the client sees that it is cut off.
      if (context.response.headersSent) context.response.destroy();
      else sendFailure(context, error);
    }
  };
}

async function handle(context: RequestContext, deps: RemoteReadDeps): Promise<void> {
  const { config, querier, checkReady } = deps;
  const call = context.call(promTimeoutMs(context, config.promql.timeoutMs));
  await checkReady(call);
  const { queries, format } = await requestOf(context, deps, call);
  const database = databaseOfWrite(context, ['db']);
  const parts = querier.promRead({ database, queries, format }, call);
  const headers = { 'x-almanac-query-id': context.requestId };
  if (format === 'chunks') {
    return streamAnswer(context, call, {
      chunks: bytesOf(parts),
      headers: () => ({ 'content-type': STREAMED_TYPE, ...headers }),
      bytesMax: config.http.maxResultBytes,
      isPacked: true,
    });
  }
  const limits = { bytesMax: config.http.maxResultBytes, budget: deps.budget };
  const answer = await wholeAnswer(parts, queries.length, limits, call);
  try {
    await sendParts(context, call, { headers: { ...WHOLE_HEADERS, ...headers }, parts: answer.parts });
  } finally {
    answer.release();
  }
}

async function requestOf(context: RequestContext, { readBody }: RemoteReadDeps, call: Call): Promise<ReadRequest> {
  const body = await readBody(context, call);
  try {
    if (body.bytes.length > BODY_BYTES_MAX) {
      throw new AlmanacError('invalid_arguments', `request is larger than ${BODY_BYTES_MAX} bytes`);
    }
    return readRequest(body.bytes);
  } finally {
    body.release();
  }
}

async function* bytesOf(parts: AsyncIterable<PromReadPart>): AsyncIterable<Uint8Array> {
  for await (const { data } of parts) yield data;
}

/** Errors are a line of text, as Prometheus's own. */
function sendFailure(context: RequestContext, error: AlmanacError): void {
  const status = promErrorStatus(error);
  const isBusy = status === 429 || status === 503;
  const headers = {
    'content-type': 'text/plain; charset=utf-8',
    'x-content-type-options': 'nosniff',
    ...errorHeaders(error),
    ...(isBusy ? { 'retry-after': String(error.retryAfterSeconds ?? 1) } : {}),
    'x-almanac-query-id': context.requestId,
  };
  send(context, { status, headers, body: `${promErrorText(error)}\n` });
}
