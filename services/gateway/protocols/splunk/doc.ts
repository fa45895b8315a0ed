import { SPLUNK_ERRORS } from '../../openapi/error-forms.js';
import { DATABASE_PARAMETERS, HINTS_HEADER, inHeader, inQuery, PIPELINE_HEADER } from '../../openapi/parameters.js';
import type { ParameterDoc, RouteDoc, RouteGroup } from '../../openapi/route-doc.js';
import { FLAG, jsonDoc, listOf, objectOf, TEXT, WHOLE } from '../../openapi/schemas.js';

const GROUP: RouteGroup = {
  name: 'Splunk',
  description: "Writes to Splunk's HTTP event collector.",
  page: 'protocols/splunk.md',
  errors: SPLUNK_ERRORS,
};
const CHANNEL = inQuery('channel', 'Channel of acknowledgements, a GUID.');
const PARAMETERS: readonly ParameterDoc[] = [
  ...DATABASE_PARAMETERS,
  inQuery('table', 'Table of events without an index. Default: `splunk_logs`.'),
  CHANNEL,
  inHeader('x-splunk-request-channel', 'The same as `channel`.'),
  inQuery('pipeline_name', 'Pipeline that the events go through.'),
  PIPELINE_HEADER,
  HINTS_HEADER,
];
const SUCCESS = jsonDoc('The events are stored.', objectOf({ text: TEXT, code: WHOLE, 'ackId?': WHOLE }));
const STATE = objectOf({ text: TEXT, code: WHOLE });

/** Describes the paths of events. */
export const SPLUNK_EVENT_DOC: RouteDoc = {
  group: GROUP,
  summary: 'Writes events',
  parameters: PARAMETERS,
  body: {
    description: 'Events, one after the other or in a list, of any content type.',
    content: { 'application/json': { type: ['object', 'array'] } },
  },
  replies: { 200: SUCCESS },
  example: {
    body: { type: 'application/json', value: { time: 1_700_000_000.25, host: 'w1', event: { code: 7 } } },
  },
};

/** Describes the paths of text. */
export const SPLUNK_RAW_DOC: RouteDoc = {
  group: GROUP,
  summary: 'Writes lines of text',
  parameters: [
    ...PARAMETERS,
    ...['index', 'host', 'source', 'sourcetype', 'time'].map((name) => inQuery(name, `\`${name}\` of all events.`)),
    inQuery('linebreaker', 'Text between events. Default: the body is one event.'),
  ],
  body: { description: 'Text, of any content type.', content: { 'text/plain': TEXT } },
  replies: { 200: SUCCESS },
  example: { parameters: { sourcetype: 'shop' }, body: { type: 'text/plain', value: 'order placed' } },
};

/** Describes the paths of acknowledgements. */
export const SPLUNK_ACK_DOC: RouteDoc = {
  group: GROUP,
  summary: 'Reports which requests of a channel are stored',
  parameters: [...DATABASE_PARAMETERS, CHANNEL],
  body: { description: 'Values of `ackId`.', content: { 'application/json': objectOf({ acks: listOf(WHOLE) }) } },
  replies: {
    200: jsonDoc(
      'For each ID whether its events are stored.',
      objectOf({ acks: { type: 'object', additionalProperties: FLAG } }),
    ),
  },
  example: {
    parameters: { channel: '8b1f6a3c-5d2e-4a7b-9c10-3f4e5d6c7b8a' },
    body: { type: 'application/json', value: { acks: [0] } },
  },
};

/** Describes the paths of health. */
export const SPLUNK_HEALTH_DOC: RouteDoc = {
  group: GROUP,
  isOpen: true,
  summary: 'Reports whether writes are possible',
  replies: { 200: jsonDoc('Writes are possible.', STATE), 503: jsonDoc('Writes are not possible.', STATE) },
  example: {},
};
