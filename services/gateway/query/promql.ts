import { AlmanacError } from '#shared/errors/almanac-error';

import { inBothNames } from '../answer.js';
import { databaseOfQuery } from '../protocols/common/database.js';
import type { Handler, RequestContext } from '../request-context.js';
import { jsonEnvelope } from './json-envelope.js';
import type { PromForm } from './prom-form.js';
import { limitParameter, queryOptions, rangeParameters, withTimeout } from './prom-parameters.js';
import { formOf, promTimeoutMs, type PromDeps } from './prometheus.js';
import { answerQueryFailure } from './sql.js';
import { formatOf } from './sql-parameters.js';
import { streamAnswer } from './stream-answer.js';

/** `GET|POST /v1/promql`: a range query whose answer is a table. */
export function promqlHandler(deps: PromDeps): Handler {
  return async (context) => {
    try {
      await handle(context, deps);
    } catch (thrown) {
      answerQueryFailure(context, thrown, deps);
    }
  };
}

async function handle(context: RequestContext, deps: PromDeps): Promise<void> {
  const { config, querier } = deps;
  const call = context.call(promTimeoutMs(context, config.promql.timeoutMs));
  await deps.checkReady(call);
  const form = (await formOf(context, deps, call)).withUrlFirst();
  for (const name of ['query', 'start', 'end', 'step']) need(form, name);
  formatOf(form.value('format'));
  const database = databaseOfQuery(context, form.value('db'));
  const limit = limitParameter(form);
  const times = rangeParameters(form);
  const request = { database, query: form.value('query'), ...times, limit, ...queryOptions(form) };
  const events = querier.promTable(request, withTimeout(call, form, deps.nowMs()));
  await streamAnswer(context, call, {
    chunks: jsonEnvelope(events, () => context.elapsedMs),
    headers: () => {
      context.database = database;
      return {
        'content-type': 'application/json',
        ...inBothNames('format', 'greptimedb_v1'),
        ...inBothNames('execution-time', String(context.elapsedMs)),
        'x-almanac-query-id': context.requestId,
      };
    },
    bytesMax: config.http.maxResultBytes,
  });
}

function need(form: PromForm, name: string): void {
  if (form.value(name) === '') throw new AlmanacError('invalid_arguments', `${name} parameter is required.`);
}
