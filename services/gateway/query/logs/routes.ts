import type { IncomingMessage } from 'node:http';

import { sectionValues } from '#shared/config/schema';
import { AlmanacError } from '#shared/errors/almanac-error';

import { mediaTypeOf } from '../../media-type.js';
import type { RouteDoc } from '../../openapi/route-doc.js';
import type { Handler, HttpMethod } from '../../request-context.js';
import { LOKI_QUERY_SECTION } from '../loki/index.js';
import { formOf, isForm, URL_ENCODED, type PromForm } from '../prom-form.js';
import { queryRoute, type QueryReply } from '../query-route.js';
import { sqlFailure, sqlTimeoutMs } from '../sql.js';
import type { TailSlots } from '../tail/slots.js';
import { LOGS_HISTOGRAM_DOC, LOGS_SEARCH_DOC, LOGS_TAIL_DOC } from './doc.js';
import { logsRequest, type LogsDeps, type LogsRequest } from './request.js';
import { logHistogram, searchLogs } from './search.js';
import { logsTailHandler } from './tail.js';

/** A path below `/v1/logs`. */
interface LogsRoute {
  readonly methods: readonly HttpMethod[];
  readonly path: string;
  readonly handler: Handler;
  readonly doc: RouteDoc;
}

type LogsRun = (request: LogsRequest, deps: LogsDeps) => Promise<QueryReply>;

/** Returns the routes that search logs; none if the configuration disables them. */
export function logsRoutes(deps: LogsDeps, slots: TailSlots): readonly LogsRoute[] {
  if (!sectionValues(deps.config, LOKI_QUERY_SECTION).enable) return [];
  const methods = ['GET', 'POST'] as const;
  return [
    { methods, path: '/v1/logs', handler: handlerOf(searchLogs, deps), doc: LOGS_SEARCH_DOC },
    { methods: ['GET'], path: '/v1/logs/tail', handler: logsTailHandler(deps, slots), doc: LOGS_TAIL_DOC },
    { methods, path: '/v1/logs/histogram', handler: handlerOf(logHistogram, deps), doc: LOGS_HISTOGRAM_DOC },
  ];
}

/** Rejects a body that would be ignored, because a search without its conditions returns other rows. @throws `unsupported`. */
function checkBodyType(request: IncomingMessage): void {
  const type = mediaTypeOf(request.headers['content-type']);
  if (request.method !== 'POST' || type === '' || isForm(request)) return;
  throw new AlmanacError('unsupported', `content type "${type}" is not supported: use ${URL_ENCODED}`, { http: 415 });
}

function handlerOf(run: LogsRun, deps: LogsDeps): Handler {
  return queryRoute<PromForm>(
    {
      timeoutMs: sqlTimeoutMs,
      hasBody: isForm,
      parameters: (context, body) => {
        checkBodyType(context.request);
        return formOf(context, body).withUrlFirst();
      },
      run: (form, call, context) => run(logsRequest(context, form, call), deps),
      isTimed: true,
      failure: sqlFailure,
    },
    deps,
  );
}
