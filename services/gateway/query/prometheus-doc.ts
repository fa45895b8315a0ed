import { PROMETHEUS_ERRORS, TEXT_ERRORS } from '../openapi/error-forms.js';
import { DATABASE_PARAMETERS, inQuery, LIMIT_PARAMETER, TIMEOUT_HEADER } from '../openapi/parameters.js';
import type { ExampleDoc, JsonSchema, ParameterDoc, RouteDoc, RouteGroup } from '../openapi/route-doc.js';
import { ANY_VALUE, BINARY, enumOf, jsonDoc, listOf, objectOf, TEXT, WHOLE } from '../openapi/schemas.js';

/** Prometheus's HTTP API. */
const PROMETHEUS_GROUP: RouteGroup = {
  name: 'Prometheus',
  description: "Prometheus's HTTP API.",
  page: 'protocols/prometheus-http-api.md',
  errors: PROMETHEUS_ERRORS,
};

/** A query in PromQL. */
export const PROM_QUERY = inQuery('query', 'A query in PromQL.');
const TIME = 'Seconds since 1970 with a fraction, or RFC 3339.';
/** The range of a lookup. */
export const PROM_WINDOW: readonly ParameterDoc[] = [
  inQuery('start', `First time. ${TIME}`),
  inQuery('end', `Last time. ${TIME}`),
];
/** Time of an instant query. */
export const PROM_TIME = inQuery('time', `Default: now. ${TIME}`);
/** Step of a range query. */
export const PROM_STEP = inQuery('step', 'Seconds, or a duration such as `5m`.');
/** Options of all queries. */
export const PROM_QUERY_OPTIONS: readonly ParameterDoc[] = [
  LIMIT_PARAMETER,
  inQuery('timeout', 'Longest duration of the query.'),
  inQuery('lookback_delta', 'How far back a selector looks for the newest sample.'),
  inQuery('stats', 'Statistics to add; `all`: also those of each step.'),
  TIMEOUT_HEADER,
];
/** Selectors of series. */
export const PROM_MATCHES: ParameterDoc = inQuery('match[]', 'Selector of series; may be repeated.');

/** Labels of a series. */
export const PROM_LABELS: JsonSchema = { type: 'object', additionalProperties: TEXT };
const SAMPLE: JsonSchema = { type: 'array', prefixItems: [{ type: 'number' }, TEXT], minItems: 2, maxItems: 2 };
/** The result of a query. */
export const PROM_RESULT = objectOf({
  resultType: enumOf('vector', 'matrix', 'scalar', 'string'),
  result: {
    anyOf: [
      SAMPLE,
      listOf(
        objectOf({
          metric: PROM_LABELS,
          'value?': SAMPLE,
          'values?': listOf(SAMPLE),
          'histogram?': ANY_VALUE,
          'histograms?': ANY_VALUE,
        }),
      ),
    ],
  },
  'stats?': { type: 'object' },
});

/** What a description of a path needs. */
interface PromDocParts {
  readonly summary: string;
  readonly parameters?: readonly ParameterDoc[];
  /** Schema of the member `data`. */
  readonly data: JsonSchema;
  readonly example?: ExampleDoc;
}

/** Describes a path of Prometheus's HTTP API. */
export function promDoc({ summary, parameters = [], data, example = {} }: PromDocParts): RouteDoc {
  const envelope = objectOf({
    status: enumOf('success'),
    data,
    'warnings?': listOf(TEXT),
    'infos?': listOf(TEXT),
  });
  return {
    group: PROMETHEUS_GROUP,
    summary,
    parameters: [...parameters, ...DATABASE_PARAMETERS],
    takesForm: true,
    replies: { 200: jsonDoc('The result.', envelope) },
    example,
  };
}

/** Describes a path that is always refused. */
export function refusedPromDoc(summary: string): RouteDoc {
  return {
    group: PROMETHEUS_GROUP,
    summary,
    replies: {
      503: jsonDoc('Always.', objectOf({ status: enumOf('error'), errorType: TEXT, error: TEXT, code: WHOLE })),
    },
    example: { status: 503 },
  };
}

/** Describes the paths of remote read. */
export const REMOTE_READ_DOC: RouteDoc = {
  group: PROMETHEUS_GROUP,
  errors: TEXT_ERRORS,
  summary: 'Exports samples by remote read',
  parameters: DATABASE_PARAMETERS,
  body: {
    description:
      'The protobuf message `prometheus.ReadRequest`, compressed with snappy: ' +
      'https://prometheus.io/docs/prometheus/latest/querying/remote_read_api/',
    content: { 'application/x-protobuf': BINARY },
  },
  replies: {
    200: {
      description: '`prometheus.ReadResponse`, or frames of `prometheus.ChunkedReadResponse`.',
      content: {
        'application/x-protobuf': BINARY,
        'application/x-streamed-protobuf; proto=prometheus.ChunkedReadResponse': BINARY,
      },
    },
  },
};
