import { sectionValues } from '#shared/config/schema';
import type { Call } from '#shared/contracts/call';
import type { Table } from '#shared/contracts/gen/common';
import type { Catalog } from '#shared/discovery/catalog';
import { quoteName, quoteText } from '#shared/duckdb/quote';
import { AlmanacError } from '#shared/errors/almanac-error';

import { databaseOfQuery } from '../../protocols/common/database.js';
import { stringifyJson, type JsonValue } from '../../protocols/common/json.js';
import type { RouteDoc } from '../../openapi/route-doc.js';
import { errorHeaders, jsonReply, type HttpReply } from '../../reply.js';
import type { Handler, RequestContext } from '../../request-context.js';
import { queryRoute, type QueryDeps, type QueryReply } from '../query-route.js';
import { sqlTimeoutMs } from '../sql.js';
import { allSqlRows, sqlRows, type SqlRow } from '../sql-rows.js';
import { JAEGER_SECTION } from './index.js';
import { JAEGER_DOCS } from './doc.js';
import { dependenciesSql, searchSql, spansSql } from './find-traces.js';
import { timeRange, traceIdOf, traceSearch, wholeNumber, type TraceSearch } from './parameters.js';
import { spanColumns } from './span-columns.js';
import { envelopeEnd, tracesJson } from './trace-json.js';

/** Dependencies of Jaeger's query API. */
export interface JaegerDeps extends QueryDeps {
  readonly catalog: Catalog;
}

/** A request: database and table that it reads, and what to run SQL with. */
interface JaegerRequest {
  readonly context: RequestContext;
  readonly database: string;
  readonly tableName: string;
  readonly call: Call;
}

/** A path of Jaeger's query API. */
interface JaegerRoute {
  readonly methods: readonly ['GET'];
  readonly path: string;
  readonly handler: Handler;
  readonly doc: RouteDoc;
}

type Run = (request: JaegerRequest, deps: JaegerDeps) => Promise<QueryReply>;

const DEFAULT_TABLE = 'opentelemetry_traces';
const PREFIX = '/v1/jaeger';
const DAY_MS = 86_400_000;
const TIME_MS_MAX = 9_223_372_036_854;
const JSON_TYPE = { 'content-type': 'application/json' };

/** Paths below `/v1/jaeger`, in the syntax of Express. */
const PATHS: Readonly<Record<string, readonly [Run, RouteDoc]>> = {
  '/api/services': [services, JAEGER_DOCS.services],
  '/api/services/:service/operations': [operationNames, JAEGER_DOCS.operationNames],
  '/api/operations': [operations, JAEGER_DOCS.operations],
  '/api/traces': [findTraces, JAEGER_DOCS.findTraces],
  '/api/traces/:traceId': [trace, JAEGER_DOCS.trace],
  '/api/dependencies': [dependencies, JAEGER_DOCS.dependencies],
};

/** Returns the routes of Jaeger's query API; none if the configuration disables it. */
export function jaegerRoutes(deps: JaegerDeps): readonly JaegerRoute[] {
  if (!sectionValues(deps.config, JAEGER_SECTION).enable) return [];
  return Object.entries(PATHS).map(([path, [run, doc]]) => ({
    methods: ['GET'],
    path: PREFIX + path,
    handler: handler(run, deps),
    doc,
  }));
}

function handler(run: Run, deps: JaegerDeps): Handler {
  return queryRoute<undefined>(
    {
      timeoutMs: sqlTimeoutMs,
      hasBody: () => false,
      parameters: () => undefined,
      run: (_none, call, context) => {
        const database = databaseOfQuery(context, context.query.get('db') ?? undefined);
        const tableName = context.productHeader('trace-table-name') ?? DEFAULT_TABLE;
        return run({ context, database, tableName, call }, deps);
      },
      isTimed: true,
      failure: jaegerFailure,
    },
    deps,
  );
}

/** Makes an error reply of Jaeger. */
function jaegerFailure(_context: RequestContext, error: AlmanacError): HttpReply {
  const status = error.httpStatus;
  const errors = [{ code: status, msg: error.publicMessage }];
  return jsonReply(status, { data: null, total: 0, limit: 0, offset: 0, errors }, errorHeaders(error, status));
}

async function services(request: JaegerRequest, deps: JaegerDeps): Promise<QueryReply> {
  const rows = await listRows(request, deps, '_services', (table) => {
    return `SELECT DISTINCT service_name FROM ${table} ORDER BY 1`;
  });
  return listReply(rows.map(([name]) => name));
}

async function operationNames(request: JaegerRequest, deps: JaegerDeps): Promise<QueryReply> {
  const service = pathPart(request.context, -2);
  const rows = await listRows(request, deps, '_operations', (table) => {
    return `SELECT DISTINCT span_name FROM ${table} WHERE service_name = ${quoteText(service)} ORDER BY 1`;
  });
  return listReply(rows.map(([name]) => name ?? ''));
}

async function operations(request: JaegerRequest, deps: JaegerDeps): Promise<QueryReply> {
  const { query } = request.context;
  const service = query.get('service') ?? '';
  if (service === '') throw new AlmanacError('invalid_arguments', "parameter 'service' is required");
  const kind = query.get('spanKind') ?? '';
  const ofKind = kind === '' ? '' : ` AND span_kind = ${quoteText(`SPAN_KIND_${kind.toUpperCase()}`)}`;
  const rows = await listRows(request, deps, '_operations', (table) => {
    const condition = `service_name = ${quoteText(service)}${ofKind}`;
    const select = `span_name, lower(replace(span_kind, 'SPAN_KIND_', ''))`;
    return `SELECT DISTINCT ${select} FROM ${table} WHERE ${condition} ORDER BY 1, 2`;
  });
  return listReply(rows.map(([name, spanKind]) => ({ name: name ?? '', spanKind: spanKind ?? '' })));
}

async function findTraces(request: JaegerRequest, deps: JaegerDeps): Promise<QueryReply> {
  const search = traceSearch(request.context.query);
  const table = await tableOf(request, deps, request.tableName);
  if (table === undefined) return listReply([]);
  if (search.ids.length > 0) return tracesReply(request, deps, table, search);
  const { database, call } = request;
  const { attributes, hasServices } = spanColumns(table);
  if (!hasServices) return listReply([]);
  const sql = searchSql(table.name, search, attributes);
  const found = await allSqlRows(deps.querier, { sql, database }, call);
  if (found.length === 0) return listReply([]);
  const startUs = Math.min(...found.map(([, first]) => Number(first)));
  const endUs = Math.max(...found.map(([, , last]) => Number(last)));
  return tracesReply(request, deps, table, { ids: found.map(([id]) => id as string), startUs, endUs });
}

async function trace(request: JaegerRequest, deps: JaegerDeps): Promise<QueryReply> {
  const { query } = request.context;
  const ids = [traceIdOf(pathPart(request.context, -1))];
  const range = timeRange(query);
  const table = await tableOf(request, deps, request.tableName);
  if (table === undefined) throw traceNotFound();
  return tracesReply(request, deps, table, { ids, ...range }, traceNotFound);
}

async function dependencies(request: JaegerRequest, deps: JaegerDeps): Promise<QueryReply> {
  const { query } = request.context;
  const endMs = wholeNumber(query, 'endTs', TIME_MS_MAX) ?? deps.nowMs();
  const lookbackMs = wholeNumber(query, 'lookback', TIME_MS_MAX) ?? DAY_MS;
  const table = await tableOf(request, deps, request.tableName);
  if (table === undefined || !spanColumns(table).hasServices) return listReply([]);
  const range = { startUs: Math.max(0, endMs - lookbackMs) * 1_000, endUs: endMs * 1_000 };
  const { database, call } = request;
  const rows = await allSqlRows(deps.querier, { sql: dependenciesSql(table.name, range), database }, call);
  return listReply(rows.map(([parent, child, callCount]) => ({ parent, child, callCount })));
}

/** Replies with all spans of traces. @param none makes the error if there is no span; without it, the list is empty. */
async function tracesReply(
  { database, call }: JaegerRequest,
  { querier }: JaegerDeps,
  table: Table,
  traces: Pick<TraceSearch, 'ids' | 'startUs' | 'endUs'>,
  none?: () => AlmanacError,
): Promise<QueryReply> {
  const { select, attributes } = spanColumns(table);
  const blocks = sqlRows(querier, { sql: spansSql(table.name, select, traces), database }, call);
  // The status of the reply depends on whether there is a first block.
  const first = await blocks.next();
  if (first.done === true && none !== undefined) throw none();
  const chunks = tracesJson(withFirst(first, blocks), attributes);
  return { chunks, headers: JSON_TYPE, database };
}

async function* withFirst<T>(first: IteratorResult<T, void>, rest: AsyncGenerator<T, void>): AsyncGenerator<T> {
  if (first.done === true) return;
  yield first.value;
  yield* rest;
}

/** Reads one of the two tables that list services and operations. */
async function listRows(
  request: JaegerRequest,
  deps: JaegerDeps,
  suffix: string,
  sqlOf: (table: string) => string,
): Promise<readonly SqlRow[]> {
  const table = await tableOf(request, deps, request.tableName + suffix);
  if (table === undefined) return [];
  const { database, call } = request;
  return allSqlRows(deps.querier, { sql: sqlOf(quoteName(table.name)), database }, call);
}

/** Returns a table; undefined before the first span is written. */
async function tableOf(
  { database, call }: JaegerRequest,
  { catalog }: JaegerDeps,
  name: string,
): Promise<Table | undefined> {
  try {
    return await catalog.table(database, name, call);
  } catch (thrown) {
    const error = AlmanacError.from(thrown);
    if (error.code !== 'table_not_found') throw error;
    return undefined;
  }
}

function listReply(data: readonly JsonValue[]): QueryReply {
  const members = data.map(stringifyJson).join(',');
  return { text: `{"data":[${members}${envelopeEnd(data.length)}`, headers: JSON_TYPE };
}

function traceNotFound(): AlmanacError {
  return new AlmanacError('invalid_arguments', 'trace not found', { http: 404 });
}

/** Returns a part of the path, counted from its end; the router has checked that it can be decoded. */
function pathPart({ path }: RequestContext, index: number): string {
  return decodeURIComponent(path.replace(/\/$/, '').split('/').at(index) ?? '');
}
