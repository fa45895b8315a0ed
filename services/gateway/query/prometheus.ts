import type { Config } from '#shared/config/schema';
import type { PromText } from '#shared/contracts/gen/querier';

import { databaseOfQuery } from '../protocols/common/database.js';
import type { Handler, RequestContext } from '../request-context.js';
import { mappedItems } from './mapped-items.js';
import { promFailure } from './prom-error.js';
import { formOf, isForm } from './prom-form.js';
import { rangeParameters } from './prom-parameters.js';
import type { PromEndpoint, PromEndpointDeps } from './prometheus-api/endpoint.js';
import { queryRoute, type QueryDeps } from './query-route.js';

/** Handles one path of Prometheus's HTTP API. */
export function promHandler(endpoint: PromEndpoint, promDeps: PromEndpointDeps, deps: QueryDeps): Handler {
  const { needsNoData = false } = endpoint;
  return queryRoute(
    {
      timeoutMs: promTimeoutMs,
      needsNoData,
      hasBody: isForm,
      parameters: formOf,
      async run(form, call, context) {
        const database = databaseOfQuery(context, form.value('db'));
        const text = form.value('query');
        if (text !== '') {
          const range = endpoint.path === '/query_range' ? rangeParameters(form) : undefined;
          context.asked = { text, isPromql: true, range, database };
        }
        const result = await endpoint.run({ form, database, path: context.path, call }, promDeps);
        if ('data' in result) return { json: { status: 'success', data: result.data } };
        return { chunks: bytesOf(result.texts), headers: { 'content-type': 'application/json' } };
      },
      isTimed: true,
      failure: promFailure,
    },
    deps,
  );
}

/** Returns the timeout of a PromQL request: what its header requests, within the limit. */
export function promTimeoutMs(context: RequestContext, { promql }: Config): number {
  const requested = context.requestedTimeoutMs() ?? 0;
  return requested === 0 ? promql.timeoutMs : Math.min(requested, promql.timeoutMs);
}

function bytesOf(texts: AsyncIterable<PromText>): AsyncIterable<Uint8Array> {
  return mappedItems(texts, (next) => next.then(textOf));
}

function textOf({ done = false, value }: IteratorResult<PromText, unknown>): IteratorResult<Uint8Array, unknown> {
  return done ? { done, value: undefined } : { done, value: (value as PromText).text };
}
