import type { JsonSchema, ParameterDoc } from './route-doc.js';
import { enumOf, TEXT, WHOLE } from './schemas.js';

/** Describes a parameter of the query. */
export function inQuery(name: string, description: string, schema: JsonSchema = TEXT): ParameterDoc {
  return { name, in: 'query', description, schema };
}

/** Describes a part of the path. */
export function inPath(name: string, description: string): ParameterDoc {
  return { name, in: 'path', description, schema: TEXT, required: true };
}

/** Describes a request header. */
export function inHeader(name: string, description: string, schema: JsonSchema = TEXT): ParameterDoc {
  return { name, in: 'header', description, schema };
}

/** The same parameter, which requests must have. */
export function requiredParameter(parameter: ParameterDoc): ParameterDoc {
  return { ...parameter, required: true };
}

const DATABASE = inQuery('db', 'Database. Default: the header `x-almanac-db-name`, then `public`.');
const DATABASE_HEADER = inHeader('x-almanac-db-name', 'Database.');
/** How every route reads its database. */
export const DATABASE_PARAMETERS: readonly ParameterDoc[] = [DATABASE, DATABASE_HEADER];

/** Timeout of the request. */
export const TIMEOUT_HEADER = inHeader('x-almanac-timeout', 'Timeout of this request, such as `20ms` or `1m 30s`.');
/** ID by which a query can be found and cancelled. */
export const QUERY_ID_HEADER = inHeader('x-almanac-query-id', 'A UUID by which the query is listed while it runs.', {
  type: 'string',
  format: 'uuid',
});
/** Parameters of all results that are tables. */
export const RESULT_PARAMETERS: readonly ParameterDoc[] = [
  inQuery('format', 'Format of the result: `greptimedb_v1` (default), `json`, `csv`, `arrow` and others.'),
  inQuery('epoch', 'Unit of timestamps in `influxdb_v1`.', enumOf('ns', 'us', 'ms', 's', 'm', 'h')),
  inQuery('compression', 'Compression of the values in `arrow`.', enumOf('zstd', 'lz4')),
];
/** Hints for tables that a write creates. */
export const HINTS_HEADER = inHeader(
  'x-almanac-hints',
  'Options of tables that the write creates, such as `ttl=7d, append_mode=true`.',
);
/** Table of logs. */
export const LOG_TABLE_HEADER = inHeader('x-almanac-log-table-name', 'Table of the log lines.');
/** Table of traces. */
export const TRACE_TABLE_HEADER = inHeader('x-almanac-trace-table-name', 'Table of the spans.');
/** Pipeline that the items of a write go through. */
export const PIPELINE_HEADER = inHeader('x-almanac-pipeline-name', 'Pipeline that the items go through.');
/** The process of a cluster that a request is about. */
export const NODE_PARAMETER = inQuery('node', 'Process of the cluster: an ID of `/status`, or `metadata`.');
/** Largest number of entries. */
export const LIMIT_PARAMETER = inQuery('limit', 'Largest number of entries in the result.', WHOLE);
