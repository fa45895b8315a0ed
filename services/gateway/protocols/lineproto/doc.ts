import { INFLUX2_ERRORS, INFLUX_ERRORS } from '../../openapi/error-forms.js';
import { DATABASE_PARAMETERS, HINTS_HEADER, inHeader, inQuery } from '../../openapi/parameters.js';
import type { BodyDoc, RouteDoc, RouteGroup } from '../../openapi/route-doc.js';
import { emptyDoc, enumOf, jsonDoc, listOf, objectOf, TEXT } from '../../openapi/schemas.js';

const GROUP: RouteGroup = {
  name: 'Line protocol',
  description: 'Writes of InfluxDB clients.',
  page: 'protocols/lineproto.md',
  errors: INFLUX_ERRORS,
};
const PARAMETERS = [
  ...DATABASE_PARAMETERS,
  inQuery('precision', 'Unit of the timestamps. Default: `ns`.', enumOf('n', 'ns', 'u', 'us', 'ms', 's', 'm', 'h')),
  HINTS_HEADER,
  inHeader('idempotency-key', 'Identifies the rows: they are applied once, even if the request is sent again.'),
];
const BODY: BodyDoc = {
  description: 'Lines of InfluxDB line protocol, of any content type.',
  content: { 'text/plain': TEXT },
};
const LINES = { type: 'text/plain', value: 'weather,city=Oslo temp=3.5\n' };
const example = { parameters: { precision: 's' }, body: LINES };

/** Describes `POST /write`. */
export const WRITE_V1_DOC: RouteDoc = {
  group: GROUP,
  summary: 'Writes lines, the well-formed ones even if others are malformed',
  parameters: PARAMETERS,
  body: BODY,
  replies: { 204: emptyDoc('All lines are stored.') },
  example,
};

/** Describes `POST /api/v2/write`. */
export const WRITE_V2_DOC: RouteDoc = {
  group: GROUP,
  errors: INFLUX2_ERRORS,
  summary: 'Writes lines, or none if one is malformed',
  parameters: [inQuery('bucket', 'Database; takes precedence over `db`.'), ...PARAMETERS],
  body: BODY,
  replies: {
    204: emptyDoc('All lines are stored.'),
    422: jsonDoc(
      'Some rows do not fit their table; the others are stored.',
      INFLUX2_ERRORS.content['application/json'],
    ),
  },
  example,
};

/** Describes `GET /ping`. */
export const PING_DOC: RouteDoc = {
  group: GROUP,
  isOpen: true,
  summary: 'Returns the version of InfluxDB that clients see, in `X-Influxdb-Version`',
  parameters: [inQuery('verbose', 'Anything but `0` and `false`: the version is in the body, too.')],
  replies: {
    200: jsonDoc('With `verbose`.', objectOf({ version: TEXT })),
    204: emptyDoc('The server runs.'),
  },
  example: { parameters: { verbose: 'true' } },
};

const HEALTH = objectOf({
  name: TEXT,
  message: TEXT,
  status: enumOf('pass', 'fail'),
  checks: listOf({}),
  version: TEXT,
});

/** Describes `GET /health`. */
export const INFLUX_HEALTH_DOC: RouteDoc = {
  group: GROUP,
  isOpen: true,
  summary: 'Reports whether writes are possible',
  replies: {
    200: jsonDoc('Writes are possible.', HEALTH),
    503: jsonDoc('Writes are not possible; `message` says why.', HEALTH),
  },
  example: {},
};
