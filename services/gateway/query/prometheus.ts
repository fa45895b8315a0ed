import type { Call } from '#shared/contracts/call';
import type { PromText } from '#shared/contracts/gen/querier';
import { AlmanacError } from '#shared/errors/almanac-error';

import { inBothNames, sendJson } from '../answer.js';
import { databaseOfQuery } from '../protocols/common/database.js';
import type { Handler, RequestContext } from '../request-context.js';
import { sendPromError } from './prom-answer.js';
import { bodyParameters, isForm, PromForm } from './prom-form.js';
import type { PromEndpoint, PromEndpointDeps } from './prometheus-api/endpoint.js';
import type { SqlDeps } from './sql.js';
import { streamAnswer } from './stream-answer.js';

export type PromDeps = PromEndpointDeps & Pick<SqlDeps, 'readBody' | 'checkReady' | 'onFailure'>;

/** Answers one path of Prometheus's HTTP API. */
export function promHandler(endpoint: PromEndpoint, deps: PromDeps): Handler {
  return async (context) => {
    try {
      await handle(context, endpoint, deps);
    } catch (thrown) {
      const error = AlmanacError.from(thrown);
      deps.onFailure(context, error);
      context.request.resume();
      // A half-sent answer cannot be taken back: the client sees that it is cut off.
      if (context.response.headersSent) context.response.destroy();
      else sendPromError(context, error);
    }
  };
}

async function handle(context: RequestContext, endpoint: PromEndpoint, deps: PromDeps): Promise<void> {
  const { config } = deps;
  const call = context.call(promTimeoutMs(context, config.promql.timeoutMs));
  if (endpoint.needsNoData !== true) await deps.checkReady(call);
  const form = await formOf(context, deps, call);
  const database = databaseOfQuery(context, form.value('db'));
  const reply = await endpoint.answer({ form, database, path: context.path, call }, deps);
  const headers = (): Record<string, string> => ({
    ...inBothNames('execution-time', String(context.elapsedMs)),
    'x-almanac-query-id': context.requestId,
  });
  if ('data' in reply) return sendJson(context, 200, { status: 'success', data: reply.data }, headers());
  await streamAnswer(context, call, {
    chunks: bytesOf(reply.pieces),
    headers: () => ({ 'content-type': 'application/json', ...headers() }),
    bytesMax: config.http.maxResultBytes,
  });
}

/** The time that a PromQL request has: what its header asks for, within the limit. */
export function promTimeoutMs(context: RequestContext, limitMs: number): number {
  const asked = context.askedTimeoutMs() ?? 0;
  return asked === 0 ? limitMs : Math.min(asked, limitMs);
}

/** The parameters of a request, wherever they stand. */
export async function formOf(
  context: RequestContext,
  { readBody }: Pick<SqlDeps, 'readBody'>,
  call: Call,
): Promise<PromForm> {
  const { request, query } = context;
  const contentType = request.headers['content-type'];
  if (request.method !== 'POST' || !isForm(contentType)) {
    request.resume();
    return new PromForm(new URLSearchParams(), query);
  }
  const body = await readBody(context, call);
  try {
    return new PromForm(bodyParameters(contentType, body.bytes), query);
  } finally {
    body.release();
  }
}

async function* bytesOf(pieces: AsyncIterable<PromText>): AsyncIterable<Uint8Array> {
  for await (const { text } of pieces) yield text;
}
