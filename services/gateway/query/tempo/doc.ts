import { TEXT_ERRORS } from '../../openapi/error-forms.js';
import { DATABASE_PARAMETERS, inPath, inQuery, TRACE_TABLE_HEADER } from '../../openapi/parameters.js';
import type { ExampleDoc, JsonSchema, ParameterDoc, RouteDoc, RouteGroup } from '../../openapi/route-doc.js';
import { BINARY, jsonDoc, listOf, objectOf, TEXT } from '../../openapi/schemas.js';

const GROUP: RouteGroup = {
  name: 'Tempo',
  description: "Tempo's query API: stored traces, and searches in TraceQL.",
  page: 'protocols/tempo.md',
  errors: TEXT_ERRORS,
};
const RANGE = [
  inQuery('start', 'Earliest start of spans, in seconds since 1970.'),
  inQuery('end', 'Latest start of spans, in seconds since 1970.'),
];
const Q = inQuery('q', 'A set of spans in TraceQL. Default: all spans.');
const LIMIT = inQuery('limit', 'Largest number of names or values: 5,000.');
const SCOPE = inQuery('scope', '`resource`, `span` or `intrinsic`. Default: all.');
const TAG = inPath('tag', 'A field in TraceQL, such as `resource.service.name`.');
const TRACE_EXAMPLE = { parameters: { traceId: '0102030405060708090a0b0c0d0e0f10' } };
const METRICS = { type: 'object' };

interface TempoDocParts {
  readonly summary: string;
  readonly reply: JsonSchema;
  readonly parameters?: readonly ParameterDoc[];
  readonly example?: ExampleDoc;
}

function tempoDoc({ summary, reply, parameters = [], example = {} }: TempoDocParts): RouteDoc {
  return {
    group: GROUP,
    summary,
    parameters: [...parameters, ...DATABASE_PARAMETERS, TRACE_TABLE_HEADER],
    replies: { 200: jsonDoc('What was found.', reply) },
    example,
  };
}

/** The reply is a message if the client accepts `application/protobuf`. */
function traceDoc(summary: string, message: string, reply: JsonSchema): RouteDoc {
  const parameters = [inPath('traceId', '1 to 32 hexadecimal digits.'), ...RANGE];
  return {
    ...tempoDoc({ summary, reply, parameters, example: TRACE_EXAMPLE }),
    replies: {
      200: {
        description: `The trace, as JSON or as Tempo's message \`${message}\`.`,
        content: { 'application/json': reply, 'application/protobuf': BINARY },
      },
      404: { description: 'There is no such trace.', content: TEXT_ERRORS.content },
    },
  };
}

/** Describes the paths below `/v1/tempo`, by path. */
export const TEMPO_DOCS = {
  '/api/echo': {
    group: GROUP,
    summary: 'Says that the API is there',
    replies: { 200: { description: '`echo`', content: { 'text/plain': TEXT } } },
    example: {},
  },
  '/api/traces/:traceId': traceDoc('Returns a trace', 'Trace', objectOf({ batches: listOf({ type: 'object' }) })),
  '/api/v2/traces/:traceId': traceDoc('Returns a trace, with its completeness', 'TraceByIDResponse', {
    type: 'object',
    required: ['trace'],
    properties: { trace: objectOf({ resourceSpans: listOf({ type: 'object' }) }) },
  }),
  '/api/search': tempoDoc({
    summary: 'Finds traces, the latest first',
    parameters: [
      Q,
      ...RANGE,
      inQuery('limit', 'Largest number of traces: 20, at most 1,500.'),
      inQuery('spss', 'Largest number of spans of each trace: 3, at most 100.'),
    ],
    reply: objectOf({ traces: listOf({ type: 'object' }), metrics: METRICS }),
    example: { parameters: { q: '{resource.service.name="shop"}', limit: '5' } },
  }),
  '/api/search/tags': tempoDoc({
    summary: 'Lists the names of attributes',
    parameters: [LIMIT],
    reply: objectOf({ tagNames: listOf(TEXT), metrics: METRICS }),
  }),
  '/api/v2/search/tags': tempoDoc({
    summary: 'Lists the names of attributes, by what they belong to',
    parameters: [SCOPE, LIMIT],
    reply: objectOf({ scopes: listOf(objectOf({ name: TEXT, tags: listOf(TEXT) })), metrics: METRICS }),
  }),
  '/api/search/tag/:tag/values': tempoDoc({
    summary: 'Lists the values of a field, as texts',
    parameters: [TAG, Q, ...RANGE, LIMIT],
    reply: objectOf({ tagValues: listOf(TEXT), metrics: METRICS }),
    example: { parameters: { tag: 'service.name' } },
  }),
  '/api/v2/search/tag/:tag/values': tempoDoc({
    summary: 'Lists the values of a field, with their types',
    parameters: [TAG, Q, ...RANGE, LIMIT],
    reply: objectOf({ tagValues: listOf(objectOf({ type: TEXT, value: TEXT })), metrics: METRICS }),
    example: { parameters: { tag: 'resource.service.name' } },
  }),
} as const satisfies Readonly<Record<string, RouteDoc>>;
