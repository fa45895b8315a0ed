import type { Call } from '#shared/contracts/call';
import type { Config } from '#shared/config/schema';
import type { QuerierService } from '#shared/contracts/gen/querier';
import { AlmanacError } from '#shared/errors/almanac-error';

import { inBothNames, sendError } from '../answer.js';
import type { GatewayMetrics } from '../metrics.js';
import { databaseOfQuery } from '../protocols/common/database.js';
import type { BodyEncoding } from '../protocols/protocol.js';
import type { Handler, RequestContext } from '../request-context.js';
import { jsonEnvelope } from './json-envelope.js';
import { sqlParameters } from './sql-parameters.js';
import { streamAnswer } from './stream-answer.js';

export interface SqlDeps {
  readonly config: Config;
  readonly querier: QuerierService;
  readonly readBody: (context: RequestContext, call: Call) => Promise<{ readonly bytes: Buffer; release(): void }>;
  readonly metrics: GatewayMetrics;
  /** Waits a little for a server that starts. @throws if data cannot be had yet. */
  readonly checkReady: (call: Call) => Promise<void>;
  /** Logs what is not the client's fault. */
  readonly onFailure: (context: RequestContext, error: AlmanacError) => void;
}

/** What the body of a query may be packed in. */
export const QUERY_ENCODINGS: readonly BodyEncoding[] = ['gzip', 'deflate', 'br', 'zstd'];

/** `GET|POST /v1/sql`: parameters, statements, rows as they come. */
export function sqlHandler(deps: SqlDeps): Handler {
  return async (context) => {
    try {
      await handle(context, deps);
    } catch (thrown) {
      answerQueryFailure(context, thrown, deps);
    } finally {
      deps.metrics.sql(context);
    }
  };
}

/** Ends a request for rows that failed. */
export function answerQueryFailure(
  context: RequestContext,
  thrown: unknown,
  { onFailure }: Pick<SqlDeps, 'onFailure'>,
): void {
  const failure = AlmanacError.from(thrown);
  // Logged as what it is: as the client's 408 it would not be.
  onFailure(context, failure);
  const error = asQueryError(failure);
  context.request.resume();
  // A half-sent answer cannot be taken back: the client sees that it is cut off.
  if (context.response.headersSent) context.response.destroy();
  else answerFailure(context, error);
}

async function handle(context: RequestContext, deps: SqlDeps): Promise<void> {
  const { config, querier } = deps;
  const call = context.call(timeoutMs(context, config));
  await deps.checkReady(call);
  const { sql, database, format, limit, timezone } = await parameters(context, deps, call);
  const session = databaseOfQuery(context, database);
  const zone = timezone ?? config.defaultTimezone;
  const request = { sql, database: session, timezone: zone, format, limit, user: '' };
  await streamAnswer(context, call, {
    chunks: jsonEnvelope(querier.sql(request, call), () => context.elapsedMs),
    headers: () => {
      context.database = session;
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

async function parameters(
  context: RequestContext,
  deps: SqlDeps,
  call: Call,
): Promise<ReturnType<typeof sqlParameters>> {
  if (context.request.method !== 'POST') {
    context.request.resume();
    return sqlParameters(context, undefined);
  }
  const body = await deps.readBody(context, call);
  try {
    return sqlParameters(context, body.bytes);
  } finally {
    body.release();
  }
}

/** The client's wish, as far as it is allowed; else the shorter of the limits for requests and for queries. */
function timeoutMs(context: RequestContext, { http, query }: Config): number {
  const asked = context.askedTimeoutMs();
  if (asked !== undefined) return asked === 0 ? query.maxTimeoutMs : Math.min(asked, query.maxTimeoutMs);
  return http.timeoutMs === 0 ? query.timeoutMs : Math.min(http.timeoutMs, query.timeoutMs);
}

/** Statuses that differ on query routes: a client that waits too long, and one that comes when all is busy. */
function asQueryError(error: AlmanacError): AlmanacError {
  const http = { deadline_exceeded: 408, region_busy: 429 }[error.code as string];
  if (http === undefined) return error;
  const { code, message, details, cause } = error;
  return new AlmanacError(code, message, { details, cause, http, retryAfterSeconds: error.retryAfterSeconds ?? 1 });
}

function answerFailure(context: RequestContext, error: AlmanacError): void {
  const index = error.details['statement_index'];
  context.response.setHeader('x-almanac-query-id', context.requestId);
  sendError(context, error, index === undefined ? undefined : { statement_index: Number(index) });
}
