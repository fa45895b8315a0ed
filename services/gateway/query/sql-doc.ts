import { SQL_ERRORS } from '../openapi/error-forms.js';
import {
  DATABASE_PARAMETERS,
  inHeader,
  inPath,
  inQuery,
  LIMIT_PARAMETER,
  QUERY_ID_HEADER,
  requiredParameter,
  RESULT_PARAMETERS,
  TIMEOUT_HEADER,
} from '../openapi/parameters.js';
import type { JsonSchema, ReplyDoc, RouteDoc, RouteGroup } from '../openapi/route-doc.js';
import {
  ANY_VALUE,
  anyOf,
  BINARY,
  componentOf,
  jsonDoc,
  listOf,
  NUMBER,
  objectOf,
  orNull,
  TEXT,
  TIME_TEXT,
  WHOLE,
} from '../openapi/schemas.js';

/** SQL, and what else returns tables. */
export const SQL_GROUP: RouteGroup = {
  name: 'Queries',
  description: 'SQL statements, and PromQL queries whose result is a table.',
  page: 'http-api.md',
  errors: SQL_ERRORS,
};

const RECORDS = objectOf({
  schema: objectOf({ column_schemas: listOf(objectOf({ name: TEXT, data_type: TEXT })) }),
  rows: listOf(listOf(ANY_VALUE)),
  total_rows: WHOLE,
});
const RESULT: JsonSchema = componentOf(
  'QueryResult',
  objectOf({
    output: listOf(anyOf(objectOf({ records: RECORDS }), objectOf({ affectedrows: WHOLE }))),
    execution_time_ms: WHOLE,
  }),
);
const TABLES: ReplyDoc = {
  description: 'The results, in the format of the parameter `format`.',
  content: {
    'application/json': RESULT,
    'text/csv': TEXT,
    'text/plain': TEXT,
    'application/vnd.apache.arrow.stream': BINARY,
  },
};
const SQL_TYPES = {
  'application/json': {
    ...objectOf({ sql: TEXT, 'db?': TEXT, 'timezone?': TEXT }),
    additionalProperties: true,
  },
  'text/plain': TEXT,
  'application/sql': TEXT,
};
const SQL = requiredParameter(inQuery('sql', 'One or more statements, separated by `;`.'));

/** Describes `/v1/sql`. */
export const SQL_DOC: RouteDoc = {
  group: SQL_GROUP,
  summary: 'Runs SQL statements',
  parameters: [
    SQL,
    ...DATABASE_PARAMETERS,
    ...RESULT_PARAMETERS,
    inQuery('limit', 'Largest number of rows in the result of each statement.', WHOLE),
    inQuery('read_only', 'Whether statements that change anything, or need more rights than reading, are refused.', {
      type: 'boolean',
    }),
    inHeader('x-almanac-timezone', 'Time zone of the session, such as `Europe/Oslo` or `+08:00`.'),
    TIMEOUT_HEADER,
    QUERY_ID_HEADER,
  ],
  takesForm: true,
  body: { description: 'Or the statements themselves, or an object with the parameters.', content: SQL_TYPES },
  replies: { 200: TABLES },
  example: { parameters: { sql: "SELECT 1 AS a, 'x' AS b", db: 'public' } },
};

const LAID_OUT = objectOf({ formatted: TEXT, execution_time_ms: WHOLE });
const CHECKED_SQL = { ...SQL_TYPES, 'application/json': { ...objectOf({ sql: TEXT }), additionalProperties: true } };
const CHECKED = {
  group: SQL_GROUP,
  parameters: [SQL, ...DATABASE_PARAMETERS, TIMEOUT_HEADER],
  takesForm: true,
  body: { description: 'Or the statements themselves, or an object with the parameters.', content: CHECKED_SQL },
} as const satisfies Partial<RouteDoc>;

/** Describes `/v1/sql/parse`. */
export const SQL_PARSE_DOC: RouteDoc = {
  ...CHECKED,
  summary: 'Checks the grammar of SQL statements without running them',
  description: 'Tables and columns need not exist. An error has the place in the text, as of `/v1/sql`.',
  replies: {
    200: jsonDoc(
      'An object for each statement; its key is the kind, such as `Query` or `CreateTable`. Queries have the names in them.',
      listOf({
        type: 'object',
        minProperties: 1,
        maxProperties: 1,
        additionalProperties: objectOf({
          kind: TEXT,
          'tables?': listOf(objectOf({ catalog: TEXT, schema: TEXT, table: TEXT })),
          'columns?': listOf(TEXT),
        }),
      }),
    ),
  },
  example: { parameters: { sql: 'SELECT host, avg(usage) FROM cpu GROUP BY host; SHOW TABLES' } },
};

/** Describes `/v1/sql/format`. */
export const SQL_FORMAT_DOC: RouteDoc = {
  ...CHECKED,
  summary: 'Lays out SQL statements without running them',
  replies: { 200: jsonDoc('The statements, with their comments.', LAID_OUT) },
  example: { parameters: { sql: 'select host, avg(usage) from cpu group by host' } },
};

/** Describes `/v1/promql`. */
export const PROMQL_TABLE_DOC: RouteDoc = {
  group: SQL_GROUP,
  summary: 'Runs a range query of PromQL, whose result is a table',
  parameters: [
    requiredParameter(inQuery('query', 'A query in PromQL.')),
    ...['start', 'end'].map((name) =>
      requiredParameter(inQuery(name, `${name === 'start' ? 'First' : 'Last'} time: seconds since 1970, or RFC 3339.`)),
    ),
    requiredParameter(inQuery('step', 'Seconds, or a duration such as `5m`.')),
    inQuery('lookback', 'How far back a selector looks for the newest sample.'),
    inQuery('timeout', 'Longest duration of the query.'),
    LIMIT_PARAMETER,
    ...DATABASE_PARAMETERS,
    ...RESULT_PARAMETERS,
    QUERY_ID_HEADER,
  ],
  takesForm: true,
  replies: { 200: TABLES },
  example: { parameters: { query: '1', start: '0', end: '10', step: '5s' } },
};

const RUNNING = objectOf({
  id: TEXT,
  process: TEXT,
  user: TEXT,
  db: TEXT,
  text: TEXT,
  kind: TEXT,
  started: TIME_TEXT,
  elapsed_ms: WHOLE,
  rows_out: orNull(WHOLE),
  rows_scanned: orNull(WHOLE),
  bytes_scanned: orNull(WHOLE),
  memory_bytes: orNull(WHOLE),
  progress: orNull(NUMBER),
  node: TEXT,
});

/** Describes `GET /v1/queries`. */
export const RUNNING_QUERIES_DOC: RouteDoc = {
  group: SQL_GROUP,
  summary: 'Lists what runs, or waits to run, in all queriers',
  replies: { 200: jsonDoc('The queries.', objectOf({ queries: listOf(RUNNING), execution_time_ms: WHOLE })) },
  example: {},
};

/** Describes `DELETE /v1/queries/{id}`. */
export const KILL_QUERY_DOC: RouteDoc = {
  group: SQL_GROUP,
  summary: 'Cancels the queries of a request',
  parameters: [inPath('id', 'Its `x-almanac-query-id`.')],
  replies: {
    200: jsonDoc('The queries are cancelled.', objectOf({ killed: TEXT, execution_time_ms: WHOLE })),
    404: jsonDoc('No such query runs.', SQL_ERRORS.content['application/json']),
  },
  example: { parameters: { id: '4f6d1f0e-7a37-4a52-9a50-0c7f0a3d3c11' }, status: 404 },
};
