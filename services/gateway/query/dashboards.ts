import type { IncomingHttpHeaders } from 'node:http';

import type { Call } from '#shared/contracts/call';
import { requireAccess } from '#shared/contracts/rights';
import type { MetadataService } from '#shared/contracts/gen/metadata';
import { AlmanacError } from '#shared/errors/almanac-error';

import type { RouteDoc } from '../openapi/route-doc.js';
import { databaseOfQuery } from '../protocols/common/database.js';
import { errorReply, inBothNames } from '../reply.js';
import type { Handler, HttpMethod, RequestContext } from '../request-context.js';
import { DASHBOARD_DOCS } from './dashboards-doc.js';
import { queryRoute, type QueryDeps, type QueryReply } from './query-route.js';
import { sqlTimeoutMs } from './sql.js';

/** Where dashboards are stored. */
export type DashboardDirectory = Pick<MetadataService, 'putDashboard' | 'deleteDashboard' | 'listDashboards'>;

/** Dependencies of the routes of dashboards. */
interface DashboardsDeps extends QueryDeps {
  /** Not called before the process is ready. */
  readonly dashboards: () => DashboardDirectory;
}

/** A path of saved dashboards. */
interface DashboardsRoute {
  readonly methods: readonly HttpMethod[];
  readonly path: string;
  readonly handler: Handler;
  readonly doc: RouteDoc;
}

const PATH = '/v1/dashboards';
const FORMAT = inBothNames('format', 'greptimedb_manage');

/** What a request is about. */
interface Subject {
  readonly database: string;
  /** Of the path; empty for the list. */
  readonly name: string;
  readonly headers: IncomingHttpHeaders;
  readonly body: string;
}

type Run = (subject: Subject, directory: DashboardDirectory, call: Call) => Promise<readonly object[]>;

/** Returns the routes that store dashboards: texts with a name, for each database. */
export function savedDashboardsRoutes(deps: DashboardsDeps): readonly DashboardsRoute[] {
  return [
    { methods: ['GET'], path: PATH, handler: route(listed, deps), doc: DASHBOARD_DOCS.list },
    { methods: ['GET'], path: `${PATH}/:name`, handler: route(shown, deps), doc: DASHBOARD_DOCS.show },
    { methods: ['POST'], path: `${PATH}/:name`, handler: route(stored, deps), doc: DASHBOARD_DOCS.store },
    { methods: ['DELETE'], path: `${PATH}/:name`, handler: route(deleted, deps), doc: DASHBOARD_DOCS.remove },
  ];
}

function route(run: Run, deps: DashboardsDeps): Handler {
  return queryRoute<string>(
    {
      timeoutMs: sqlTimeoutMs,
      hasBody: () => true,
      parameters: (_context, body) => body?.toString() ?? '',
      run: async (body, call, context): Promise<QueryReply> => {
        const dashboards = await run({ ...subjectOf(context), body }, deps.dashboards(), call);
        return { json: { dashboards, execution_time_ms: context.elapsedMs }, headers: FORMAT };
      },
      isTimed: true,
      failure: (context, error) => errorReply(context, error),
    },
    deps,
  );
}

function subjectOf(context: RequestContext): Omit<Subject, 'body'> {
  const database = databaseOfQuery(context, context.query.get('db') ?? undefined);
  const name = decodeURIComponent(context.path.slice(PATH.length + 1).replace(/\/$/, ''));
  return { database, name, headers: context.request.headers };
}

/**
 * Returns the etag of the only dashboard that `If-Match: "etag"` or `If-None-Match: *` lets a request replace: empty if that
 * is none, undefined if it is any.
 *
 * @throws `invalid_arguments` for other forms of these headers.
 */
function replacedEtag(headers: IncomingHttpHeaders): string | undefined {
  const { 'if-match': match, 'if-none-match': noneMatch } = headers;
  if (match === undefined && noneMatch === undefined) return undefined;
  if (match === undefined && noneMatch === '*') return '';
  const etag = noneMatch === undefined ? /^"([^"]+)"$/.exec(match ?? '')?.[1] : undefined;
  if (etag !== undefined) return etag;
  throw new AlmanacError('invalid_arguments', 'a condition is If-Match with one etag in quotes, or If-None-Match: *');
}

const listed: Run = async ({ database }, directory, call) => {
  requireAccess(call, 'read', database);
  return (await directory.listDashboards({ database, name: '' }, call)).dashboards;
};

const shown: Run = async ({ database, name }, directory, call) => {
  requireAccess(call, 'read', database);
  const { dashboards } = await directory.listDashboards({ database, name }, call);
  if (dashboards.length === 0) throw noDashboard(database, name);
  return dashboards;
};

const stored: Run = async ({ database, name, headers, body }, directory, call) => {
  const replaced = replacedEtag(headers);
  requireAccess(call, 'write', database);
  if (body === '') throw new AlmanacError('invalid_arguments', 'the body has no dashboard');
  const dashboard = { name, definition: body, etag: '' };
  const reply = await directory.putDashboard({ database, dashboard, replacedEtag: replaced }, call);
  if (!reply.conflict) return [{ name, etag: reply.etag }];
  const found = reply.etag === '' ? 'was deleted' : replaced === '' ? 'exists already' : 'was changed meanwhile';
  throw new AlmanacError('invalid_arguments', `the dashboard "${name}" ${found}: read it again, and send its etag`, {
    http: 412,
  });
};

const deleted: Run = async ({ database, name }, directory, call) => {
  requireAccess(call, 'write', database);
  const { deleted: isDeleted } = await directory.deleteDashboard({ database, name }, call);
  if (!isDeleted) throw noDashboard(database, name);
  return [{ name }];
};

function noDashboard(database: string, name: string): AlmanacError {
  return new AlmanacError('invalid_arguments', `the database ${database} has no dashboard "${name}"`, { http: 404 });
}
