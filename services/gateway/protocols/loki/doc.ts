import { ALMANAC_ERRORS, TEXT_ERRORS } from '../../openapi/error-forms.js';
import { DATABASE_PARAMETERS, HINTS_HEADER, LOG_TABLE_HEADER, PIPELINE_HEADER } from '../../openapi/parameters.js';
import type { RouteDoc, RouteGroup } from '../../openapi/route-doc.js';
import { BINARY, emptyDoc, listOf, objectOf, textDoc, TEXT_MAP } from '../../openapi/schemas.js';

const GROUP: RouteGroup = {
  name: 'Loki push',
  description: 'Writes of clients of Grafana Loki.',
  page: 'protocols/loki.md',
  errors: TEXT_ERRORS,
};
const STREAM = objectOf({ stream: TEXT_MAP, values: listOf({ type: 'array', minItems: 2, maxItems: 3 }) });

/** Describes the paths of `push`. */
export const LOKI_PUSH_DOC: RouteDoc = {
  group: GROUP,
  summary: 'Writes log lines',
  parameters: [...DATABASE_PARAMETERS, LOG_TABLE_HEADER, PIPELINE_HEADER, HINTS_HEADER],
  body: {
    description:
      'Streams of lines as JSON, or the protobuf message `logproto.PushRequest` compressed with snappy: ' +
      'https://grafana.com/docs/loki/latest/reference/loki-http-api/#ingest-logs',
    content: { 'application/json': objectOf({ streams: listOf(STREAM) }), 'application/x-protobuf': BINARY },
  },
  replies: { 204: emptyDoc('All lines are stored.') },
  example: {
    body: {
      type: 'application/json',
      value: {
        streams: [
          { stream: { app: 'shop' }, values: [['1700000000000000000', 'status=500 took=12ms', { trace_id: '0a' }]] },
        ],
      },
    },
  },
};

/** Describes `GET /ready`. */
export const LOKI_READY_DOC: RouteDoc = {
  group: GROUP,
  errors: ALMANAC_ERRORS,
  summary: 'Reports whether writes are possible',
  replies: { 200: textDoc('Writes are possible.', '^ready'), 503: textDoc('Writes are not possible.') },
  example: {},
};
