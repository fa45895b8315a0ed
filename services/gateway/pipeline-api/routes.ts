import type { Call } from '#shared/contracts/call';
import { requireEverywhere, type Access } from '#shared/contracts/rights';
import type { Catalog } from '#shared/discovery/catalog';
import type { RowWriter } from '#shared/write/writer-types';
import { AlmanacError } from '#shared/errors/almanac-error';

import { canonicalName } from '../pipelines/identity.js';
import { pipelineNotFound, type PipelineLibrary } from '../pipelines/library.js';
import type { Transform } from '../pipelines/transform/transform.js';
import { parseVersion, pipelineVersionText } from '../pipelines/version.js';
import { databaseOfQuery } from '../protocols/common/database.js';
import type { PipelineCounters } from '../protocols/common/pipeline/counters.js';
import { stringifyJson, type JsonObject, type JsonValue } from '../protocols/common/json.js';
import type { RouteDoc } from '../openapi/route-doc.js';
import { placeOf } from '../protocols/ingest/replies.js';
import { mediaTypeOf } from '../media-type.js';
import { multipartFields } from '../query/multipart.js';
import { queryRoute, type QueryDeps, type QueryReply } from '../query/query-route.js';
import { sqlTimeoutMs } from '../query/sql.js';
import { errorReply, inBothNames } from '../reply.js';
import type { Handler, HttpMethod, RequestContext } from '../request-context.js';
import { PIPELINE_DOCS } from './doc.js';
import { dryRun, dryRunOf } from './dry-run.js';
import { runOverStored, storedRunOf } from './stored-run.js';
import { Replayer, replayLimit } from './replay.js';
import { runDocumentTests } from './run-tests.js';
import { tableChanges } from './table-changes.js';
import { tableDdl } from './table-ddl.js';

/** Dependencies of the routes that manage pipelines. */
export interface PipelineApiDeps extends QueryDeps {
  readonly pipelines: PipelineLibrary;
  readonly catalog: Catalog;
  readonly nowNs: () => bigint;
  readonly writer: RowWriter;
  readonly counters: PipelineCounters;
}

/** A path of the API of pipelines. */
interface PipelineApiRoute {
  readonly methods: readonly HttpMethod[];
  readonly path: string;
  readonly handler: Handler;
  readonly doc: RouteDoc;
}

/** Runs a request. `name` is the pipeline that the path names. */
type Run = (
  name: string,
  body: Buffer | undefined,
  deps: PipelineApiDeps,
  call: Call,
  context: RequestContext,
) => Promise<JsonValue>;

const FORMAT = inBothNames('format', 'greptimedb_manage');
const PREFIXES = ['/v1/pipelines', '/v1/events/pipelines'];

/** Returns the routes that manage pipelines and try them (spec: pipelines 11, 12). */
export function pipelineApiRoutes(deps: PipelineApiDeps): PipelineApiRoute[] {
  const replayer = new Replayer(deps);
  return PREFIXES.flatMap((prefix): PipelineApiRoute[] => [
    { methods: ['GET'], path: prefix, handler: handler(list, deps), doc: PIPELINE_DOCS.list },
    { methods: ['POST'], path: `${prefix}/_dryrun`, handler: handler(tryItems, deps), doc: PIPELINE_DOCS.tryItems },
    ...(prefix.includes('events')
      ? [
          {
            methods: ['POST'] as const,
            path: `${prefix}/dryrun`,
            handler: handler(tryItems, deps),
            doc: PIPELINE_DOCS.tryItems,
          },
        ]
      : []),
    { methods: ['POST'], path: `${prefix}/:name`, handler: handler(upload, deps, 'write'), doc: PIPELINE_DOCS.upload },
    { methods: ['GET'], path: `${prefix}/:name`, handler: handler(show, deps), doc: PIPELINE_DOCS.show },
    {
      methods: ['DELETE'],
      path: `${prefix}/:name`,
      handler: handler(remove, deps, 'write'),
      doc: PIPELINE_DOCS.remove,
    },
    { methods: ['GET'], path: `${prefix}/:name/ddl`, handler: handler(ddl, deps), doc: PIPELINE_DOCS.ddl },
    {
      methods: ['POST'],
      path: `${prefix}/:name/replay`,
      handler: handler(replay(replayer), deps, 'write'),
      doc: PIPELINE_DOCS.replay,
    },
  ]);
}

/** @param access that the user must have to every database, since pipelines belong to none. */
function handler(run: Run, deps: PipelineApiDeps, access: Access = 'read'): Handler {
  return queryRoute<Buffer | undefined>(
    {
      timeoutMs: sqlTimeoutMs,
      hasBody: () => true,
      // The body is freed before the pipeline runs.
      parameters: (_context, body) => (body === undefined ? undefined : Buffer.from(body)),
      run: async (body, call, context): Promise<QueryReply> => {
        requireEverywhere(call, access);
        const reply = await run(nameOf(context), body, deps, call, context);
        const timed = Array.isArray(reply) ? reply : { ...(reply as object), execution_time_ms: context.elapsedMs };
        return { text: stringifyJson(timed as JsonValue), headers: { 'content-type': 'application/json', ...FORMAT } };
      },
      isTimed: true,
      failure: (context, error) => errorReply(context, error, error.httpStatus, placeOf(error)),
    },
    deps,
  );
}

/** Returns the name of the pipeline in the path. */
function nameOf({ path }: RequestContext): string {
  const rest = path.replace(/^\/v1(\/events)?\/pipelines\/?/, '').replace(/\/(ddl|replay)$/, '');
  return decodeURIComponent(rest);
}

const upload: Run = async (name, body, { pipelines, catalog, nowNs }, call, context) => {
  if (/^(greptime|almanac)_/.test(name)) {
    const prefix = name.slice(0, name.indexOf('_') + 1);
    throw new AlmanacError('invalid_arguments', `Invalid request parameter: pipeline_name cannot start with ${prefix}`);
  }
  const text = uploadedText(context, body);
  // Its tests must not change what the processors of stored pipelines remember and count.
  const trial = pipelines.forDryRun();
  const compiled = trial.compile(name, text);
  const { warnings, transform, extras } = compiled;
  if (extras.tests.length > 0) {
    runDocumentTests(await trial.close(compiled, call), pipelines.timeColumn, nowNs());
  }
  const changes = await changesOf(transform, catalog, call, context);
  const version = await pipelines.directory.put(name, text, call);
  return {
    pipelines: [{ name, version: pipelineVersionText(version) }],
    ...(warnings.length === 0 ? {} : { warnings }),
    ...changes,
  };
};

/** Returns what the pipeline would change in the table that the request names; nothing if it names none. */
async function changesOf(
  transform: Transform,
  catalog: Catalog,
  call: Call,
  context: RequestContext,
): Promise<JsonObject> {
  const table = context.query.get('table') ?? '';
  if (table === '') return {};
  const database = databaseOfQuery(context, context.query.get('db') ?? undefined);
  return tableChanges(
    transform,
    (await catalog.tables(database, call)).find(({ name }) => name === table),
  );
}

function uploadedText({ request }: RequestContext, body: Buffer | undefined): string {
  const contentType = request.headers['content-type'] ?? '';
  const type = mediaTypeOf(contentType) ?? '';
  const isForm = type === 'multipart/form-data';
  if (!isForm && !type.endsWith('yaml')) {
    throw new AlmanacError('unsupported', `content type "${type}" is not supported: use application/yaml`, {
      http: 415,
    });
  }
  const bytes = body ?? Buffer.alloc(0);
  const text = ((isForm ? multipartFields(contentType, bytes)[0]?.[1] : bytes) ?? '').toString();
  if (text !== '') return text;
  throw new AlmanacError('invalid_arguments', 'Invalid request parameter: pipeline is required in body');
}

const show: Run = async (name, _body, { pipelines }, call, { query }) => {
  const given = query.get('version');
  const version = given === null ? undefined : parseVersion(given);
  const stored = await pipelines.directory.fetch(name, version, call);
  if (stored === undefined) throw pipelineNotFound({ name, version });
  return { pipelines: [{ name, version: given ?? pipelineVersionText(stored.version), pipeline: stored.text }] };
};

const remove: Run = async (name, _body, { pipelines }, call, { query }) => {
  const given = query.get('version') ?? '';
  if (given === '') throw new AlmanacError('invalid_arguments', 'Invalid request parameter: version is required');
  const isDeleted = await pipelines.directory.delete(name, parseVersion(given), call);
  return { pipelines: isDeleted ? [{ name, version: given }] : [] };
};

const list: Run = async (_name, _body, { pipelines }, call, { query }) => {
  const prefix = query.get('name') ?? '';
  const isAll = query.get('all') === 'true';
  const seen = new Set<string>();
  const versions = (await pipelines.directory.list(call)).filter(({ name }) => {
    const isListed = name.startsWith(prefix) && (isAll || !seen.has(name));
    seen.add(name);
    return isListed;
  });
  return { pipelines: versions.map(({ name, version }) => ({ name, version: pipelineVersionText(version) })) };
};

const ddl: Run = async (name, _body, { pipelines, catalog }, call, context) => {
  const { query } = context;
  const table = query.get('table') ?? '';
  if (table === '') throw new AlmanacError('invalid_arguments', 'Invalid request parameter: table name is required');
  if (canonicalName(name).startsWith('greptime_')) {
    throw new AlmanacError(
      'invalid_arguments',
      "Invalid request parameter: built-in pipelines don't have fixed table schema",
    );
  }
  const given = query.get('version');
  const wanted = { name, version: given === null ? undefined : parseVersion(given) };
  const pipeline = await pipelines.find(wanted, call);
  if (pipeline === undefined) throw pipelineNotFound(wanted);
  const sql = tableDdl(pipeline, table);
  const database = databaseOfQuery(context, query.get('db') ?? undefined);
  const exists = (await catalog.tables(database, call)).some((it) => it.name === table);
  const messages = [
    ...(pipeline.dispatcher !== undefined || pipeline.suffix !== undefined
      ? ['the pipeline has dispatcher or table_suffix, the table name may not be fixed']
      : []),
    ...(exists ? ['table already exists, the CREATE TABLE SQL may be different'] : []),
  ];
  return { sql: { sql, ...(messages.length === 0 ? {} : { message: messages.join('; ') }) } };
};

const tryItems: Run = async (_name, body, deps, call, context) => {
  const { pipelines, nowNs } = deps;
  const stored = storedRunOf(context, body);
  if (stored !== undefined) return runOverStored(stored, { ...deps, pipelines: pipelines.forDryRun() }, call);
  return dryRun(dryRunOf(context, body), pipelines.forDryRun(), nowNs(), call);
};

const replay = (replayer: Replayer): Run => {
  return (name, _body, _deps, call, context) => {
    const { query } = context;
    const table = query.get('table') ?? '';
    if (table === '') throw new AlmanacError('invalid_arguments', 'Invalid request parameter: table is required');
    const given = query.get('version');
    return replayer.run(
      {
        database: databaseOfQuery(context, query.get('db') ?? undefined),
        table,
        pipeline: { name: canonicalName(name), version: given === null ? undefined : parseVersion(given) },
        itemsMax: replayLimit(query.get('limit')),
      },
      call,
    );
  };
};
