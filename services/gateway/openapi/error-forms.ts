import type { ErrorCode } from '#shared/errors/codes';

import type { ErrorFormDoc, JsonSchema } from './route-doc.js';
import { BINARY, componentOf, objectOf, enumOf, listOf, NUMBER, TEXT, WHOLE } from './schemas.js';

/** Of credentials, rates and overload, which every route checks. */
const ALWAYS: readonly ErrorCode[] = [
  'auth_header_not_found',
  'invalid_auth_header',
  'user_password_mismatch',
  'permission_denied',
  'rate_limited',
  'region_not_ready',
  'external',
  'storage_unavailable',
  'internal',
];
const QUERY: readonly ErrorCode[] = [
  ...ALWAYS,
  'invalid_arguments',
  'unsupported',
  'invalid_syntax',
  'plan_query',
  'execute_query',
  'table_not_found',
  'column_not_found',
  'database_not_found',
  'region_busy',
  'resources_exhausted',
  'cancelled',
  'deadline_exceeded',
];
const WRITE: readonly ErrorCode[] = [
  ...ALWAYS,
  'invalid_arguments',
  'unsupported',
  'database_not_found',
  'table_not_found',
  'region_busy',
  'deadline_exceeded',
];

const MEMBERS: Readonly<Record<string, JsonSchema>> = { code: WHOLE, error: TEXT, execution_time_ms: WHOLE };
const json = (name: string, members: Readonly<Record<string, JsonSchema>>): Pick<ErrorFormDoc, 'name' | 'content'> => {
  return { name, content: { 'application/json': componentOf(name, objectOf(members)) } };
};

/** Errors of SQL: with the place in the text, where it is known. */
export const SQL_ERRORS: ErrorFormDoc = {
  ...json('SqlError', {
    ...MEMBERS,
    'statement_index?': WHOLE,
    'line?': WHOLE,
    'column?': WHOLE,
    'length?': WHOLE,
  }),
  codes: [...QUERY, 'table_already_exists', 'column_exists', 'database_already_exists', 'flow_not_found'],
  statuses: { deadline_exceeded: 408, region_busy: 429 },
};
/** Errors of routes without a form of their own. */
export const ALMANAC_ERRORS: ErrorFormDoc = { ...json('Error', MEMBERS), codes: QUERY };
/** Errors of pipelines: with the item and the step that failed. */
export const PIPELINE_ERRORS: ErrorFormDoc = {
  ...json('PipelineError', { 'code?': WHOLE, error: TEXT, execution_time_ms: WHOLE, 'item?': WHOLE, 'step?': TEXT }),
  codes: WRITE,
};
/** Errors of line protocol, as in InfluxDB 1. */
export const INFLUX_ERRORS: ErrorFormDoc = {
  ...json('InfluxError', { error: TEXT }),
  codes: WRITE,
  statuses: { database_not_found: 404, deadline_exceeded: 408 },
};
/** Errors of line protocol, as in InfluxDB 2. */
export const INFLUX2_ERRORS: ErrorFormDoc = {
  ...json('Influx2Error', { code: TEXT, message: TEXT, error: TEXT }),
  codes: WRITE,
  statuses: { database_not_found: 404, deadline_exceeded: 408 },
};
/** Errors of Prometheus's HTTP API. */
export const PROMETHEUS_ERRORS: ErrorFormDoc = {
  ...json('PrometheusError', {
    status: enumOf('error'),
    errorType: TEXT,
    error: TEXT,
    code: WHOLE,
    'execution_time_ms?': WHOLE,
  }),
  codes: QUERY,
  statuses: {
    execute_query: 422,
    resources_exhausted: 422,
    cancelled: 499,
    deadline_exceeded: 503,
    storage_unavailable: 500,
  },
};
/** Errors of remote write. */
export const REMOTE_WRITE_ERRORS: ErrorFormDoc = {
  ...json('RemoteWriteError', { error: TEXT, code: WHOLE }),
  codes: WRITE,
};
/** Errors as a line of text. */
export const TEXT_ERRORS: ErrorFormDoc = { name: 'TextError', content: { 'text/plain': TEXT }, codes: QUERY };
/** Errors of Jaeger's query API. */
export const JAEGER_ERRORS: ErrorFormDoc = {
  ...json('JaegerError', {
    data: { type: 'null' },
    total: NUMBER,
    limit: NUMBER,
    offset: NUMBER,
    errors: listOf(objectOf({ code: WHOLE, msg: TEXT })),
  }),
  codes: QUERY,
};
/** Errors of OpenTSDB. */
export const OPENTSDB_ERRORS: ErrorFormDoc = {
  ...json('OpentsdbError', { error: objectOf({ code: WHOLE, message: TEXT, details: TEXT }) }),
  codes: WRITE,
};
/** Errors of OTLP: `google.rpc.Status`. */
export const OTLP_ERRORS: ErrorFormDoc = {
  name: 'OtlpError',
  content: {
    'application/json': componentOf('OtlpError', objectOf({ code: WHOLE, message: TEXT })),
    'application/x-protobuf': BINARY,
  },
  codes: WRITE,
};
/** Errors of Splunk's event collector. */
export const SPLUNK_ERRORS: ErrorFormDoc = {
  ...json('SplunkError', { text: TEXT, code: WHOLE, 'reason?': TEXT, 'invalid-event-number?': WHOLE }),
  codes: WRITE,
};
const CAUSE: Readonly<Record<string, JsonSchema>> = { type: TEXT, reason: TEXT };
/** Errors of Elasticsearch. */
export const ELASTICSEARCH_ERRORS: ErrorFormDoc = {
  ...json('ElasticsearchError', { error: objectOf({ root_cause: listOf(objectOf(CAUSE)), ...CAUSE }), status: WHOLE }),
  codes: WRITE,
};
