import type { Call } from '#shared/contracts/call';
import { AlmanacError } from '#shared/errors/almanac-error';

import { errorReply, type HttpReply } from '../reply.js';
import type { Handler, RequestContext } from '../request-context.js';
import type { RouteDoc } from '../openapi/route-doc.js';
import { queryRoute, type QueryDeps, type QueryReply } from './query-route.js';
import { KILL_QUERY_DOC, RUNNING_QUERIES_DOC } from './sql-doc.js';
import { sqlTimeoutMs } from './sql.js';
import { allSqlRows, type SqlRow } from './sql-rows.js';

/** A path of running queries. */
interface QueriesRoute {
  readonly methods: readonly ('GET' | 'DELETE')[];
  readonly path: string;
  readonly handler: Handler;
  readonly doc: RouteDoc;
}

/** A statement or query that runs, or waits to run, in some querier. */
interface RunningQuery {
  /** Header `x-almanac-query-id` of the reply of its request. */
  readonly id: string;
  /** ID of this part of the request, for `KILL`. */
  readonly process: string;
  /** Empty if there are no users. */
  readonly user: string;
  readonly db: string;
  readonly text: string;
  readonly kind: string;
  /** ISO 8601, UTC. */
  readonly started: string;
  readonly elapsed_ms: number;
  /** Rows of the result that were sent so far; null if the result has none. */
  readonly rows_out: number | null;
  /** Rows of tables that were read so far; null where it is not known, like the following figures. */
  readonly rows_scanned: number | null;
  /** Size of these rows in their segments. */
  readonly bytes_scanned: number | null;
  /** Memory that is reserved for it. */
  readonly memory_bytes: number | null;
  /** Share of the reading that is done, 0 to 1. */
  readonly progress: number | null;
  /** Address of the querier. */
  readonly node: string;
}

const PATH = '/v1/queries';
/** Any user may name it, and none of its tables is read. */
const DATABASE = 'information_schema';
const ID_LENGTH_MAX = 200;

/** Returns the routes that list and cancel what runs in all queriers, as far as the user may see it. */
export function runningQueriesRoutes(deps: QueryDeps): readonly QueriesRoute[] {
  return [
    { methods: ['GET'], path: PATH, handler: route(listed, deps), doc: RUNNING_QUERIES_DOC },
    { methods: ['DELETE'], path: `${PATH}/:id`, handler: route(killed, deps), doc: KILL_QUERY_DOC },
  ];
}

type Run = (context: RequestContext, call: Call, deps: QueryDeps) => Promise<QueryReply>;

function route(run: Run, deps: QueryDeps): Handler {
  return queryRoute<undefined>(
    {
      timeoutMs: sqlTimeoutMs,
      hasBody: () => false,
      parameters: () => undefined,
      run: (_none, call, context) => run(context, call, deps),
      isTimed: true,
      failure,
    },
    deps,
  );
}

function failure(context: RequestContext, error: AlmanacError): HttpReply {
  return errorReply(context, error);
}

async function listed(context: RequestContext, call: Call, { querier }: QueryDeps): Promise<QueryReply> {
  // Neither waits for an admission slot: a busy server must show what makes it busy.
  const rows = await allSqlRows(querier, { sql: 'SHOW FULL PROCESSLIST', database: DATABASE }, call);
  const queries = rows.map(queryOf).filter(({ id }) => id !== context.requestId);
  return { json: { queries, execution_time_ms: context.elapsedMs } };
}

async function killed(context: RequestContext, call: Call, { querier }: QueryDeps): Promise<QueryReply> {
  const id = decodeURIComponent(context.path.slice(PATH.length + 1));
  if (id.length > ID_LENGTH_MAX) throw noQuery(id);
  const sql = `KILL '${id.replaceAll("'", "''")}'`;
  try {
    await allSqlRows(querier, { sql, database: DATABASE }, call);
  } catch (thrown) {
    const error = AlmanacError.from(thrown);
    throw error.code === 'invalid_arguments' ? noQuery(id) : error;
  }
  return { json: { killed: id, execution_time_ms: context.elapsedMs } };
}

function noQuery(id: string): AlmanacError {
  const text = `no query with the ID "${id.slice(0, ID_LENGTH_MAX)}" is running`;
  return new AlmanacError('invalid_arguments', text, { http: 404 });
}

/** Reads a row of `SHOW FULL PROCESSLIST`. */
function queryOf(row: SqlRow): RunningQuery {
  const [process, , db, user, node, started, elapsed, text, id, kind] = row.map(String);
  const figures = row.slice(10).map((cell) => (cell === null ? null : Number(cell)));
  // An older querier sends fewer.
  const [rows_out = null, rows_scanned = null, bytes_scanned = null, memory_bytes = null, progress = null] = figures;
  return {
    id,
    process,
    user,
    db,
    text,
    kind,
    started: `${started}Z`,
    elapsed_ms: millisecondsOf(elapsed),
    ...{ rows_out, rows_scanned, bytes_scanned, memory_bytes, progress },
    node,
  };
}

/** Reads `01:02:03.004`. */
function millisecondsOf(elapsed: string): number {
  const [hours, minutes, seconds] = elapsed.split(':').map(Number);
  return Math.round((hours * 3600 + minutes * 60 + seconds) * 1000);
}
