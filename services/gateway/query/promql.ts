import { AlmanacError } from '#shared/errors/almanac-error';
import { resultFormatNamed } from '#shared/formats/registry';

import { databaseOfQuery } from '../protocols/common/database.js';
import type { Handler } from '../request-context.js';
import { formOf, isForm, type PromForm } from './prom-form.js';
import { limitParameter, queryOptions, rangeParameters, withTimeout } from './prom-parameters.js';
import { promTimeoutMs } from './prometheus.js';
import { queryRoute, type QueryDeps } from './query-route.js';
import { resultReply } from './result-body.js';
import { sqlFailure } from './sql.js';

/** `GET|POST /v1/promql`: runs a range query whose result is a table. */
export function promqlHandler(deps: QueryDeps): Handler {
  const { config, querier, nowMs } = deps;
  return queryRoute(
    {
      timeoutMs: promTimeoutMs,
      hasBody: isForm,
      parameters: (context, body) => formOf(context, body).withUrlFirst(),
      run(form, call, context) {
        for (const name of ['query', 'start', 'end', 'step']) need(form, name);
        const parameters = { epoch: form.value('epoch'), compression: form.value('compression') };
        const format = resultFormatNamed(form.value('format'), parameters);
        const database = databaseOfQuery(context, form.value('db'));
        const limit = limitParameter(form);
        const times = rangeParameters(form);
        const request = {
          database,
          query: form.value('query'),
          ...times,
          limit,
          ...queryOptions(form),
          format: format.names[0],
        };
        context.asked = { text: request.query, isPromql: true, range: times, database };
        const events = querier.promTable(request, withTimeout(call, form, nowMs()));
        return resultReply(events, format, { database, context, bytesMax: config.http.maxResultBytes });
      },
      isTimed: true,
      failure: sqlFailure,
    },
    deps,
  );
}

function need(form: PromForm, name: string): void {
  if (form.value(name) === '') throw new AlmanacError('invalid_arguments', `${name} parameter is required.`);
}
