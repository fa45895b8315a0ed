import { SQL_ERRORS } from '../../openapi/error-forms.js';
import { DATABASE_PARAMETERS, inHeader, inQuery } from '../../openapi/parameters.js';
import type { RouteDoc, RouteGroup } from '../../openapi/route-doc.js';
import { enumOf, jsonDoc, listOf, objectOf, TEXT, TIME_TEXT, WHOLE } from '../../openapi/schemas.js';

const GROUP: RouteGroup = {
  name: 'Logs',
  description: 'Searches in tables of logs, without SQL.',
  page: 'logs.md',
  errors: SQL_ERRORS,
};
const TIME = 'Nanoseconds or seconds since 1970, or RFC 3339.';
const TABLE = inQuery('table', 'Table; may be repeated. Default: those of Loki, OTLP and Splunk.');
const CONDITIONS = [
  inQuery('where', 'Condition on a column, such as `level=error`; may be repeated.'),
  inQuery('search', 'Words and phrases that the line must have.'),
];
const RANGE = [
  inQuery('start', TIME),
  inQuery('end', TIME),
  inQuery('last', 'Length of the range, such as `15m`. Default: an hour.'),
];
const COLUMNS = inQuery('columns', 'Columns to return, separated by commas.');
const ROWS = objectOf({ rows: listOf({ type: 'object' }), total_rows: WHOLE, execution_time_ms: WHOLE });

/** Describes `/v1/logs`. */
export const LOGS_SEARCH_DOC: RouteDoc = {
  group: GROUP,
  summary: 'Finds log lines',
  parameters: [
    ...DATABASE_PARAMETERS,
    TABLE,
    ...RANGE,
    ...CONDITIONS,
    COLUMNS,
    inQuery('limit', 'Largest number of rows. Default: 1,000.', WHOLE),
    inQuery('order', 'Order of time.', enumOf('desc', 'asc')),
    inQuery('format', 'Format of the reply.', enumOf('json', 'ndjson')),
    inQuery('at', `Return the rows around this time instead. ${TIME}`),
    inQuery('before', 'Largest number of rows before `at`.', WHOLE),
    inQuery('after', 'Largest number of rows after `at`.', WHOLE),
  ],
  takesForm: true,
  replies: {
    200: {
      description: 'The rows: an object for each, without null members.',
      content: { 'application/json': ROWS, 'application/x-ndjson': TEXT },
    },
  },
  example: { parameters: { start: '2023-11-14T22:00:00Z', search: 'order' } },
};

/** Describes `/v1/logs/histogram`. */
export const LOGS_HISTOGRAM_DOC: RouteDoc = {
  group: GROUP,
  summary: 'Counts log lines by interval',
  parameters: [
    ...DATABASE_PARAMETERS,
    TABLE,
    ...RANGE,
    ...CONDITIONS,
    inQuery('interval', 'Length of an interval. Default: a hundredth of the range.'),
    inQuery('by', 'Column whose values are counted separately.'),
  ],
  takesForm: true,
  replies: {
    200: jsonDoc(
      'The intervals with lines; each has the member that `by` names.',
      objectOf({
        interval_ms: { type: 'number' },
        buckets: listOf({ ...objectOf({ time: TIME_TEXT, count: WHOLE }), additionalProperties: TEXT }),
        'execution_time_ms?': WHOLE,
      }),
    ),
  },
  example: { parameters: { start: '2023-11-14T22:00:00Z', end: '2023-11-14T23:00:00Z', interval: '10m' } },
};

/** Describes `/v1/logs/tail`. */
export const LOGS_TAIL_DOC: RouteDoc = {
  group: GROUP,
  summary: 'Sends log lines as they are written',
  parameters: [
    ...DATABASE_PARAMETERS,
    TABLE,
    ...CONDITIONS,
    COLUMNS,
    inHeader('last-event-id', 'Position after which the tail continues.'),
    inQuery('last_event_id', 'The same as the header `last-event-id`.'),
  ],
  replies: {
    200: { description: 'Events, until an hour has passed.', content: { 'text/event-stream': TEXT } },
  },
};
