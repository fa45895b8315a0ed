import { OPENTSDB_ERRORS } from '../../openapi/error-forms.js';
import { DATABASE_PARAMETERS, HINTS_HEADER, inQuery } from '../../openapi/parameters.js';
import type { RouteDoc } from '../../openapi/route-doc.js';
import { anyOf, emptyDoc, jsonDoc, listOf, NUMBER, objectOf, TEXT, TEXT_MAP, WHOLE } from '../../openapi/schemas.js';

const POINT = objectOf({
  metric: TEXT,
  timestamp: anyOf(WHOLE, TEXT),
  value: anyOf(NUMBER, TEXT),
  'tags?': TEXT_MAP,
});
const POINT_ERRORS = listOf(objectOf({ datapoint: { type: 'object' }, error: TEXT }));

/** Describes `POST /api/put`. */
export const OPENTSDB_PUT_DOC: RouteDoc = {
  group: {
    name: 'OpenTSDB',
    description: 'Writes of OpenTSDB clients.',
    page: 'protocols/opentsdb.md',
    errors: OPENTSDB_ERRORS,
  },
  summary: 'Writes points',
  parameters: [
    ...DATABASE_PARAMETERS,
    inQuery('summary', 'Present: the reply has the numbers of points that were stored and that failed.'),
    inQuery('details', 'Present: the reply has the points that failed, too.'),
    HINTS_HEADER,
  ],
  body: { description: 'A point, or a list of points.', content: { 'application/json': anyOf(POINT, listOf(POINT)) } },
  replies: {
    200: jsonDoc(
      'All points are stored, with `summary` or `details`.',
      objectOf({ success: WHOLE, failed: WHOLE, 'errors?': POINT_ERRORS }),
    ),
    204: emptyDoc('All points are stored.'),
  },
  example: {
    parameters: { details: '' },
    body: {
      type: 'application/json',
      value: { metric: 'sys.cpu', timestamp: 1_700_000_000, value: 18, tags: { host: 'w1' } },
    },
  },
};
