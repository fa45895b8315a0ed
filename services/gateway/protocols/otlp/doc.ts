import { OTLP_ERRORS } from '../../openapi/error-forms.js';
import {
  DATABASE_PARAMETERS,
  HINTS_HEADER,
  inHeader,
  LOG_TABLE_HEADER,
  PIPELINE_HEADER,
  TRACE_TABLE_HEADER,
} from '../../openapi/parameters.js';
import type { ParameterDoc, RouteDoc, RouteGroup } from '../../openapi/route-doc.js';
import { BINARY, objectOf, TEXT } from '../../openapi/schemas.js';

const GROUP: RouteGroup = {
  name: 'OTLP',
  description: 'Writes of OpenTelemetry: metrics, logs and traces.',
  page: 'protocols/otlp.md',
  errors: OTLP_ERRORS,
};
const SPECIFICATION = 'https://opentelemetry.io/docs/specs/otlp/';

interface Signal {
  readonly name: string;
  /** Name of the message, without `Export` and `ServiceRequest`. */
  readonly message: string;
  readonly rejected: string;
  readonly parameters: readonly ParameterDoc[];
  readonly example: unknown;
}

function signalDoc({ name, message, rejected, parameters, example }: Signal): RouteDoc {
  const partial = objectOf({ [rejected]: TEXT, errorMessage: TEXT });
  return {
    group: GROUP,
    summary: `Writes ${name}`,
    parameters: [...DATABASE_PARAMETERS, HINTS_HEADER, ...parameters],
    body: {
      description: `The message \`Export${message}ServiceRequest\` of OTLP: ${SPECIFICATION}`,
      content: { 'application/json': { type: 'object' }, 'application/x-protobuf': BINARY },
    },
    replies: {
      200: {
        description: `Everything is stored, except what \`partialSuccess\` counts. The form is that of the request: JSON or protobuf.`,
        content: { 'application/json': objectOf({ 'partialSuccess?': partial }), 'application/x-protobuf': BINARY },
      },
    },
    example: { body: { type: 'application/json', value: example } },
  };
}

const RESOURCE = { attributes: [{ key: 'service.name', value: { stringValue: 'shop' } }] };

/** Describes `POST /v1/metrics`. */
export const OTLP_METRICS_DOC = signalDoc({
  name: 'metrics',
  message: 'Metrics',
  rejected: 'rejectedDataPoints',
  parameters: [],
  example: {
    resourceMetrics: [
      {
        resource: RESOURCE,
        scopeMetrics: [
          {
            metrics: [
              { name: 'orders', gauge: { dataPoints: [{ timeUnixNano: '1700000000000000000', asDouble: 3 }] } },
            ],
          },
        ],
      },
    ],
  },
});

/** Describes `POST /v1/traces`. */
export const OTLP_TRACES_DOC = signalDoc({
  name: 'spans',
  message: 'Trace',
  rejected: 'rejectedSpans',
  parameters: [TRACE_TABLE_HEADER, PIPELINE_HEADER],
  example: {
    resourceSpans: [
      {
        resource: RESOURCE,
        scopeSpans: [
          {
            spans: [
              {
                traceId: '0102030405060708090a0b0c0d0e0f10',
                spanId: '0102030405060708',
                name: 'checkout',
                kind: 2,
                startTimeUnixNano: '1700000000000000000',
                endTimeUnixNano: '1700000000250000000',
              },
            ],
          },
        ],
      },
    ],
  },
});

/** Describes `POST /v1/logs`. */
export const OTLP_LOGS_DOC = signalDoc({
  name: 'log records',
  message: 'Logs',
  rejected: 'rejectedLogRecords',
  parameters: [
    LOG_TABLE_HEADER,
    inHeader('x-almanac-log-extract-keys', 'Names of attributes that become columns, separated by commas.'),
    PIPELINE_HEADER,
  ],
  example: {
    resourceLogs: [
      {
        resource: RESOURCE,
        scopeLogs: [
          {
            logRecords: [
              { timeUnixNano: '1700000000000000000', body: { stringValue: 'order placed' }, severityNumber: 9 },
            ],
          },
        ],
      },
    ],
  },
});
