import { TEXT_ERRORS } from '../../openapi/error-forms.js';
import { DATABASE_PARAMETERS, inPath, inQuery, LIMIT_PARAMETER, LOG_TABLE_HEADER } from '../../openapi/parameters.js';
import type { ExampleDoc, JsonSchema, ParameterDoc, RouteDoc, RouteGroup } from '../../openapi/route-doc.js';
import { emptyDoc, enumOf, jsonDoc, listOf, objectOf, orNull, TEXT, TEXT_MAP, WHOLE } from '../../openapi/schemas.js';

const GROUP: RouteGroup = {
  name: 'Loki queries',
  description: 'The query API of Grafana Loki: stored log lines.',
  page: 'protocols/loki-query.md',
  errors: TEXT_ERRORS,
};
const QUERY = inQuery('query', 'A query in LogQL.');
const SELECTOR = inQuery('query', 'A selector of streams. Default: all.');
const TIME = 'Nanoseconds or seconds since 1970, or RFC 3339.';
const RANGE: readonly ParameterDoc[] = [
  inQuery('start', TIME),
  inQuery('end', TIME),
  inQuery('since', 'Length of the range if there is no `start`. Default: an hour.'),
];
const LINES = [LIMIT_PARAMETER, inQuery('direction', 'Order of time.', enumOf('backward', 'forward'))];
const STEP = inQuery('step', 'Seconds, or a duration.');
const TABLE = inQuery('table', 'Table of the lines. Default: `loki_logs`.');
const NAME = inPath('name', 'Its name.');
const VOLUME = [
  QUERY,
  ...RANGE,
  LIMIT_PARAMETER,
  inQuery('targetLabels', 'Labels, separated by commas.'),
  inQuery('aggregateBy', 'What the volume is of.', enumOf('series', 'labels')),
];
const FIELDS = [SELECTOR, ...RANGE, LIMIT_PARAMETER, inQuery('line_limit', 'Number of lines that are read.', WHOLE)];
const HOUR: ExampleDoc['parameters'] = { start: '1699999000', end: '1700001000' };

const SAMPLE: JsonSchema = { type: 'array', prefixItems: [{ type: 'number' }, TEXT], minItems: 2, maxItems: 2 };
const LINE: JsonSchema = { type: 'array', prefixItems: [TEXT, TEXT, { type: 'object' }], minItems: 2, maxItems: 3 };
const STREAMS = listOf(objectOf({ stream: TEXT_MAP, values: listOf(LINE) }));
const SERIES = listOf(objectOf({ metric: TEXT_MAP, 'value?': SAMPLE, 'values?': listOf(SAMPLE) }));
const RESULT = objectOf({
  resultType: enumOf('streams', 'matrix', 'vector', 'scalar'),
  result: { anyOf: [STREAMS, SERIES, SAMPLE] },
  'encodingFlags?': listOf(TEXT),
  stats: { type: 'object' },
});

interface LokiDocParts {
  readonly summary: string;
  readonly parameters?: readonly ParameterDoc[];
  /** Schema of the whole reply. */
  readonly reply: JsonSchema;
  readonly example?: Readonly<Record<string, string>>;
}

function lokiDoc({ summary, parameters = [], reply, example = {} }: LokiDocParts): RouteDoc {
  return {
    group: GROUP,
    summary,
    parameters: [...parameters, TABLE, LOG_TABLE_HEADER, ...DATABASE_PARAMETERS],
    takesForm: true,
    replies: { 200: jsonDoc('The result.', reply) },
    example: { parameters: example },
  };
}

function success(data: JsonSchema): JsonSchema {
  return objectOf({ status: enumOf('success'), data });
}

/** Describes the paths below each base. */
export const LOKI_DOCS = {
  queryRange: lokiDoc({
    summary: 'Returns log lines, or series of a metric query at each step',
    parameters: [QUERY, ...RANGE, STEP, inQuery('interval', 'Shortest time between two lines.'), ...LINES],
    reply: success(RESULT),
    example: { query: '{app="shop"} | logfmt', ...HOUR },
  }),
  query: lokiDoc({
    summary: 'Returns series of a metric query at one time',
    parameters: [QUERY, inQuery('time', `Default: now. ${TIME}`), ...LINES],
    reply: success(RESULT),
    example: { query: 'sum by (app) (count_over_time({app="shop"}[1h]))', time: '1700000010' },
  }),
  labels: lokiDoc({
    summary: 'Returns the labels of streams',
    parameters: [SELECTOR, ...RANGE],
    reply: success(listOf(TEXT)),
    example: { ...HOUR },
  }),
  labelValues: lokiDoc({
    summary: 'Returns the values of a label',
    parameters: [NAME, SELECTOR, ...RANGE],
    reply: success(listOf(TEXT)),
    example: { name: 'app', ...HOUR },
  }),
  series: lokiDoc({
    summary: 'Returns the labels of each stream',
    parameters: [inQuery('match[]', 'A selector; may be repeated.'), ...RANGE],
    reply: success(listOf(TEXT_MAP)),
    example: { 'match[]': '{app="shop"}', ...HOUR },
  }),
  indexStats: lokiDoc({
    summary: 'Counts streams, lines and bytes',
    parameters: [SELECTOR, ...RANGE],
    reply: objectOf({ streams: WHOLE, chunks: WHOLE, bytes: WHOLE, entries: WHOLE }),
    example: { query: '{app="shop"}', ...HOUR },
  }),
  volume: lokiDoc({
    summary: 'Returns bytes by labels',
    parameters: VOLUME,
    reply: success(RESULT),
    example: { query: '{app="shop"}', ...HOUR },
  }),
  volumeRange: lokiDoc({
    summary: 'Returns bytes by labels at each step',
    parameters: [...VOLUME, STEP],
    reply: success(RESULT),
    example: { query: '{app="shop"}', ...HOUR },
  }),
  detectedLabels: lokiDoc({
    summary: 'Returns labels and their numbers of values',
    parameters: [SELECTOR, ...RANGE],
    reply: objectOf({ detectedLabels: listOf(objectOf({ label: TEXT, cardinality: WHOLE })) }),
    example: { ...HOUR },
  }),
  detectedFields: lokiDoc({
    summary: 'Returns what the last lines hold',
    parameters: FIELDS,
    reply: objectOf({
      fields: listOf(
        objectOf({
          label: TEXT,
          type: TEXT,
          cardinality: WHOLE,
          parsers: orNull(listOf(TEXT)),
          'jsonPath?': listOf(TEXT),
        }),
      ),
      limit: WHOLE,
    }),
    example: { query: '{app="shop"}', ...HOUR },
  }),
  detectedFieldValues: lokiDoc({
    summary: 'Returns the values of a field that the last lines hold',
    parameters: [NAME, ...FIELDS],
    reply: objectOf({ values: listOf(TEXT), limit: WHOLE }),
    example: { name: 'status', query: '{app="shop"}', ...HOUR },
  }),
  tail: {
    group: GROUP,
    summary: 'Sends log lines as they are written, by WebSocket',
    parameters: [
      QUERY,
      inQuery('start', TIME),
      LIMIT_PARAMETER,
      inQuery('delay_for', 'Seconds that lines are held: 0 to 5.', WHOLE),
      TABLE,
      ...DATABASE_PARAMETERS,
    ],
    replies: { 101: emptyDoc('With the headers of an upgrade: messages with `streams`.') },
  },
  formatQuery: lokiDoc({
    summary: 'Formats a query',
    parameters: [QUERY],
    reply: success(TEXT),
    example: { query: '{app="shop"}|logfmt' },
  }),
  buildInfo: lokiDoc({
    summary: 'Returns the version of Loki whose API this is',
    reply: objectOf({
      version: TEXT,
      revision: TEXT,
      branch: TEXT,
      buildUser: TEXT,
      buildDate: TEXT,
      goVersion: TEXT,
      almanacVersion: TEXT,
    }),
  }),
} as const satisfies Readonly<Record<string, RouteDoc>>;
