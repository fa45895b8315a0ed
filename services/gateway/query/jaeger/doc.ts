import { JAEGER_ERRORS } from '../../openapi/error-forms.js';
import {
  DATABASE_PARAMETERS,
  inPath,
  inQuery,
  requiredParameter,
  TRACE_TABLE_HEADER,
} from '../../openapi/parameters.js';
import type { ExampleDoc, JsonSchema, ParameterDoc, RouteDoc, RouteGroup } from '../../openapi/route-doc.js';
import { ANY_VALUE, componentOf, jsonDoc, listOf, objectOf, TEXT, WHOLE } from '../../openapi/schemas.js';

const GROUP: RouteGroup = {
  name: 'Jaeger',
  description: "Jaeger's query API: stored traces.",
  page: 'protocols/jaeger.md',
  errors: JAEGER_ERRORS,
};
const TAGS = listOf(objectOf({ key: TEXT, type: TEXT, value: ANY_VALUE }));
const SPAN = objectOf({
  traceID: TEXT,
  spanID: TEXT,
  operationName: TEXT,
  references: listOf(objectOf({ refType: TEXT, traceID: TEXT, spanID: TEXT })),
  startTime: WHOLE,
  duration: WHOLE,
  tags: TAGS,
  logs: listOf(objectOf({ timestamp: WHOLE, fields: TAGS })),
  processID: TEXT,
  warnings: { type: 'null' },
});
const TRACE = componentOf(
  'JaegerTrace',
  objectOf({
    traceID: TEXT,
    spans: listOf(SPAN),
    processes: { type: 'object', additionalProperties: objectOf({ serviceName: TEXT, tags: TAGS }) },
    warnings: { type: 'null' },
  }),
);
const RANGE = [
  inQuery('start', 'Earliest start, in microseconds since 1970.', WHOLE),
  inQuery('end', 'Latest start, in microseconds since 1970.', WHOLE),
];
const SERVICE = inQuery('service', 'Name of the service.');

interface JaegerDocParts {
  readonly summary: string;
  readonly item: JsonSchema;
  readonly parameters?: readonly ParameterDoc[];
  readonly example?: ExampleDoc;
}

function jaegerDoc({ summary, item, parameters = [], example = {} }: JaegerDocParts): RouteDoc {
  const list = objectOf({ data: listOf(item), total: WHOLE, limit: WHOLE, offset: WHOLE, errors: listOf({}) });
  return {
    group: GROUP,
    summary,
    parameters: [...parameters, ...DATABASE_PARAMETERS, TRACE_TABLE_HEADER],
    replies: { 200: jsonDoc('The list.', list) },
    example,
  };
}

/** Describes the paths below `/v1/jaeger`. */
export const JAEGER_DOCS = {
  services: jaegerDoc({ summary: 'Lists the services', item: TEXT }),
  operationNames: jaegerDoc({
    summary: "Lists the names of a service's spans",
    item: TEXT,
    parameters: [inPath('service', 'Name of the service.')],
    example: { parameters: { service: 'shop' } },
  }),
  operations: jaegerDoc({
    summary: "Lists the names and kinds of a service's spans",
    item: objectOf({ name: TEXT, spanKind: TEXT }),
    parameters: [requiredParameter(SERVICE), inQuery('spanKind', 'Kind of the spans, such as `client`.')],
    example: { parameters: { service: 'shop' } },
  }),
  findTraces: jaegerDoc({
    summary: 'Finds traces, the latest first',
    item: TRACE,
    parameters: [
      SERVICE,
      inQuery('traceID', 'ID of a trace; may be repeated.'),
      inQuery('operation', 'Name of the span.'),
      ...RANGE,
      inQuery('minDuration', 'Shortest span, such as `1.5ms`.'),
      inQuery('maxDuration', 'Longest span, such as `2s`.'),
      inQuery('tags', 'Attributes, as a JSON object.'),
      inQuery('tag', 'An attribute, as `key:value`; may be repeated.'),
      inQuery('limit', 'Largest number of traces: 100, at most 1,500.', WHOLE),
    ],
    example: { parameters: { service: 'shop', limit: '20' } },
  }),
  trace: {
    ...jaegerDoc({
      summary: 'Returns a trace',
      item: TRACE,
      parameters: [inPath('traceId', '1 to 32 hexadecimal digits.'), ...RANGE],
      example: { parameters: { traceId: '0102030405060708090a0b0c0d0e0f10' } },
    }),
    replies: {
      200: jsonDoc(
        'The trace.',
        objectOf({ data: listOf(TRACE), total: WHOLE, limit: WHOLE, offset: WHOLE, errors: listOf({}) }),
      ),
      404: jsonDoc('There is no such trace.', JAEGER_ERRORS.content['application/json']),
    },
  },
  dependencies: jaegerDoc({
    summary: 'Lists the calls between services',
    item: objectOf({ parent: TEXT, child: TEXT, callCount: WHOLE }),
    parameters: [
      inQuery('endTs', 'End of the range, in milliseconds since 1970. Default: now.', WHOLE),
      inQuery('lookback', 'Length of the range in milliseconds. Default: 24 hours.', WHOLE),
    ],
  }),
} as const satisfies Readonly<Record<string, RouteDoc>>;
