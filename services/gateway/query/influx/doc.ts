import { INFLUX2_ERRORS, INFLUX_ERRORS } from '../../openapi/error-forms.js';
import { DATABASE_PARAMETERS, inQuery, requiredParameter } from '../../openapi/parameters.js';
import type { RouteDoc, RouteGroup } from '../../openapi/route-doc.js';
import { ANY_VALUE, jsonDoc, listOf, objectOf, TEXT, TEXT_MAP, WHOLE } from '../../openapi/schemas.js';

const GROUP: RouteGroup = {
  name: 'InfluxDB queries',
  description: 'Databases, retention policies and schemas, as clients of InfluxDB create and list them.',
  page: 'protocols/influxdb-query.md',
  errors: INFLUX_ERRORS,
};
const SERIES = objectOf({ 'name?': TEXT, columns: listOf(TEXT), 'values?': listOf(listOf(ANY_VALUE)) });
const RESULT = objectOf({
  statement_id: WHOLE,
  'series?': listOf(SERIES),
  'messages?': listOf(objectOf({ level: TEXT, text: TEXT })),
  'error?': TEXT,
});

/** Describes `/query`. */
export const INFLUX_QUERY_DOC: RouteDoc = {
  group: GROUP,
  summary: 'Runs statements about databases, retention policies and schemas',
  parameters: [
    requiredParameter(inQuery('q', 'Statements, separated by `;`.')),
    ...DATABASE_PARAMETERS,
    inQuery('pretty', '`true`: the reply is indented.'),
  ],
  takesForm: true,
  replies: { 200: jsonDoc('The result of each statement.', objectOf({ results: listOf(RESULT) })) },
  example: { parameters: { q: 'SHOW DATABASES' } },
};

const BUCKET = objectOf({
  id: TEXT,
  orgID: TEXT,
  type: TEXT,
  name: TEXT,
  retentionRules: listOf(objectOf({ type: TEXT, everySeconds: WHOLE, shardGroupDurationSeconds: WHOLE })),
  labels: listOf({}),
  links: TEXT_MAP,
});

/** Describes `/api/v2/buckets`. */
export const BUCKETS_DOC: RouteDoc = {
  group: GROUP,
  errors: INFLUX2_ERRORS,
  summary: 'Lists the databases as buckets',
  parameters: [
    inQuery('name', 'Name of the bucket.'),
    inQuery('id', 'ID of the bucket.'),
    inQuery('after', 'ID after which the list begins.'),
    inQuery('offset', 'Number of buckets that are left out.', WHOLE),
    inQuery('limit', 'Largest number of buckets: 20, at most 100.', WHOLE),
  ],
  replies: { 200: jsonDoc('The buckets.', objectOf({ links: TEXT_MAP, buckets: listOf(BUCKET) })) },
  example: { parameters: { name: 'public' } },
};
