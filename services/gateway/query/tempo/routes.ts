import { sectionValues } from '#shared/config/schema';
import { requireAccess } from '#shared/contracts/rights';
import { AlmanacError } from '#shared/errors/almanac-error';

import type { RouteDoc } from '../../openapi/route-doc.js';
import { databaseOfQuery } from '../../protocols/common/database.js';
import { stringifyJson } from '../../protocols/common/json.js';
import { errorHeaders, textReply } from '../../reply.js';
import type { Handler, RequestContext } from '../../request-context.js';
import { spansSql } from '../jaeger/find-traces.js';
import { traceIdOf } from '../jaeger/parameters.js';
import { spanColumns } from '../jaeger/span-columns.js';
import { queryRoute, type QueryReply } from '../query-route.js';
import { sqlTimeoutMs } from '../sql.js';
import { sqlRows, type SqlRow } from '../sql-rows.js';
import { TEMPO_DOCS } from './doc.js';
import { TEMPO_SECTION } from './index.js';
import { traceByIdMessage, traceMessage } from './otlp-proto.js';
import { OtlpTrace, resourceSpansJson } from './otlp-trace.js';
import { DEFAULT_SPANS_TABLE, spansTable, tempoRange, type TempoDeps, type TempoRequest } from './request.js';
import { searchTraces } from './search.js';
import { searchTagNames, searchTags, searchTagTexts, searchTagValues } from './tags.js';

/** A path of Tempo's query API. */
interface TempoRoute {
  readonly methods: readonly ['GET'];
  readonly path: string;
  readonly handler: Handler;
  readonly doc: RouteDoc;
}

type Run = (request: TempoRequest, deps: TempoDeps) => Promise<QueryReply> | QueryReply;

const PREFIX = '/v1/tempo';
/** Spans of a trace in one reply, and their characters as JSON; they are held in memory. */
const SPANS_MAX = 10_000;
const CHARS_MAX = 32 * 1024 * 1024;
const PROTOBUF = 'application/protobuf';

type TempoPath = keyof typeof TEMPO_DOCS;

/** Paths below `/v1/tempo`, in the syntax of Express. */
const PATHS: Readonly<Record<TempoPath, Run>> = {
  '/api/echo': () => ({ text: 'echo', headers: { 'content-type': 'text/plain; charset=utf-8' } }),
  '/api/traces/:traceId': (request, deps) => trace(request, deps, 1),
  '/api/v2/traces/:traceId': (request, deps) => trace(request, deps, 2),
  '/api/search': searchTraces,
  '/api/search/tags': searchTagNames,
  '/api/v2/search/tags': searchTags,
  '/api/search/tag/:tag/values': (request, deps) => searchTagTexts(request, deps, pathPart(request.context, -2)),
  '/api/v2/search/tag/:tag/values': (request, deps) => searchTagValues(request, deps, pathPart(request.context, -2)),
};

/** Returns the routes of Tempo's query API; none if the configuration disables it. */
export function tempoRoutes(deps: TempoDeps): readonly TempoRoute[] {
  if (!sectionValues(deps.config, TEMPO_SECTION).enable) return [];
  return (Object.keys(PATHS) as TempoPath[]).map((path) => ({
    methods: ['GET'],
    path: PREFIX + path,
    handler: handler(PATHS[path], deps),
    doc: TEMPO_DOCS[path],
  }));
}

function handler(run: Run, deps: TempoDeps): Handler {
  return queryRoute<undefined>(
    {
      timeoutMs: sqlTimeoutMs,
      hasBody: () => false,
      parameters: () => undefined,
      run: (_none, call, context) => {
        const database = databaseOfQuery(context, context.query.get('db') ?? undefined);
        requireAccess(call, 'read', database);
        const tableName = context.productHeader('trace-table-name') ?? DEFAULT_SPANS_TABLE;
        return run({ context, database, tableName, call }, deps);
      },
      isTimed: true,
      failure: (_context, error) => textReply(error.httpStatus, `${error.publicMessage}\n`, errorHeaders(error)),
    },
    deps,
  );
}

/** Replies with the spans of a trace, as protobuf if the client accepts that. */
async function trace(request: TempoRequest, deps: TempoDeps, version: 1 | 2): Promise<QueryReply> {
  const { context, database, call } = request;
  const ids = [traceIdOf(pathPart(context, -1))];
  const range = tempoRange(request);
  const table = await spansTable(request, deps);
  if (table === undefined) throw traceNotFound();
  const { select, attributes } = spanColumns(table, 'ns');
  const sql = `${spansSql(table.name, select, { ids, ...range })} LIMIT ${SPANS_MAX + 1}`;
  const found = new OtlpTrace(attributes);
  const partial = await addSpans(found, sqlRows(deps.querier, { sql, database }, call));
  if (acceptsProtobuf(context)) {
    const message = version === 1 ? traceMessage(found) : traceByIdMessage(found, partial);
    return { chunks: once(message), headers: { 'content-type': PROTOBUF }, database };
  }
  const spans = resourceSpansJson(found);
  const body =
    version === 1
      ? { batches: spans }
      : { trace: { resourceSpans: spans }, ...(partial === undefined ? {} : { status: 'PARTIAL', message: partial }) };
  return { text: stringifyJson(body), headers: { 'content-type': 'application/json' }, database };
}

/** Adds spans up to the limits, and returns what exceeds one. @throws 404 if there are none. */
async function addSpans(trace: OtlpTrace, blocks: AsyncIterable<readonly SqlRow[]>): Promise<string | undefined> {
  let count = 0;
  let chars = 0;
  for await (const rows of blocks) {
    for (const row of rows) {
      chars += stringifyJson(row).length;
      if (count > 0 && chars > CHARS_MAX) {
        return `the trace has more than ${CHARS_MAX} characters: these are its first spans`;
      }
      if (++count > SPANS_MAX) return `the trace has more than ${SPANS_MAX} spans: these are the first`;
      trace.add(row);
    }
  }
  if (count === 0) throw traceNotFound();
  return undefined;
}

// eslint-disable-next-line @typescript-eslint/require-await -- a reply of bytes is a stream
async function* once(bytes: Uint8Array): AsyncGenerator<Uint8Array, void, undefined> {
  yield bytes;
}

function acceptsProtobuf({ request }: RequestContext): boolean {
  return (request.headers.accept ?? '').toLowerCase().includes(PROTOBUF);
}

function traceNotFound(): AlmanacError {
  return new AlmanacError('invalid_arguments', 'trace not found', { http: 404 });
}

/** Returns a part of the path, counted from its end; the router has checked that it can be decoded. */
function pathPart({ path }: RequestContext, index: number): string {
  return decodeURIComponent(path.replace(/\/$/, '').split('/').at(index) ?? '');
}
