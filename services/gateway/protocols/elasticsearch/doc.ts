import { ALMANAC_ERRORS, ELASTICSEARCH_ERRORS } from '../../openapi/error-forms.js';
import { DATABASE_PARAMETERS, HINTS_HEADER, inPath, inQuery, PIPELINE_HEADER } from '../../openapi/parameters.js';
import type { RouteDoc, RouteGroup } from '../../openapi/route-doc.js';
import { enumOf, FLAG, jsonDoc, listOf, NUMBER, objectOf, TEXT, WHOLE } from '../../openapi/schemas.js';

const GROUP: RouteGroup = {
  name: 'Elasticsearch',
  description: 'Writes of agents and clients of Elasticsearch, and what these call when they start.',
  page: 'protocols/elasticsearch.md',
  errors: ELASTICSEARCH_ERRORS,
};
const PARAMETERS = [
  ...DATABASE_PARAMETERS,
  inQuery('msg_field', 'Member that holds the document, as JSON text or as any other text.'),
  inQuery('pipeline_name', 'Pipeline that the documents go through.'),
  PIPELINE_HEADER,
  HINTS_HEADER,
];
const OUTCOME = objectOf({
  _index: TEXT,
  status: WHOLE,
  'error?': objectOf({ type: TEXT, reason: TEXT }),
});
const BULK_DOC = {
  group: GROUP,
  summary: 'Writes documents',
  body: {
    description:
      'Two lines for each document, the action and the document, of any content type: ' +
      'https://www.elastic.co/docs/api/doc/elasticsearch/operation/operation-bulk',
    content: { 'application/x-ndjson': TEXT },
  },
  replies: {
    200: jsonDoc(
      'The outcome of each document.',
      objectOf({ took: WHOLE, errors: FLAG, items: listOf(objectOf({ 'create?': OUTCOME, 'index?': OUTCOME })) }),
    ),
  },
} as const satisfies RouteDoc;
const DOCUMENT = { type: 'application/x-ndjson', value: '{"create":{"_index":"shop"}}\n{"message":"order placed"}\n' };

/** Describes `/_bulk`. */
export const ELASTICSEARCH_BULK_DOC: RouteDoc = { ...BULK_DOC, parameters: PARAMETERS, example: { body: DOCUMENT } };

/** Describes `/{index}/_bulk`. */
export const ELASTICSEARCH_INDEX_BULK_DOC: RouteDoc = {
  ...BULK_DOC,
  parameters: [inPath('index', 'Table of documents whose action names no index.'), ...PARAMETERS],
  example: {
    parameters: { index: 'shop' },
    body: { ...DOCUMENT, value: '{"index":{}}\n{"message":"order placed"}\n' },
  },
};

/** Describes `/`. */
export const ELASTICSEARCH_VERSION_DOC: RouteDoc = {
  group: GROUP,
  errors: ALMANAC_ERRORS,
  summary: 'Returns the version of Elasticsearch that clients see',
  replies: {
    200: jsonDoc(
      'The version.',
      objectOf({
        name: TEXT,
        cluster_name: TEXT,
        version: objectOf({ number: TEXT, build_flavor: TEXT, minimum_wire_compatibility_version: TEXT }),
        tagline: TEXT,
      }),
    ),
  },
  example: {},
};

/** Describes `/_license`. */
export const ELASTICSEARCH_LICENSE_DOC: RouteDoc = {
  group: GROUP,
  errors: ALMANAC_ERRORS,
  summary: 'Returns an active license',
  replies: {
    200: jsonDoc(
      'The license.',
      objectOf({ license: objectOf({ uid: TEXT, type: TEXT, status: TEXT, expiry_date_in_millis: NUMBER }) }),
    ),
  },
  example: {},
};

/** Describes `/_cluster/health`. */
export const ELASTICSEARCH_HEALTH_DOC: RouteDoc = {
  group: GROUP,
  errors: ALMANAC_ERRORS,
  summary: 'Reports whether writes are possible',
  replies: {
    200: jsonDoc(
      '`red` while writes are not possible.',
      objectOf({
        cluster_name: TEXT,
        status: enumOf('green', 'red'),
        timed_out: FLAG,
        number_of_nodes: WHOLE,
        number_of_data_nodes: WHOLE,
      }),
    ),
  },
  example: {},
};

/** Describes what agents call when they start. */
export const ELASTICSEARCH_START_UP_DOC: RouteDoc = {
  group: GROUP,
  errors: ALMANAC_ERRORS,
  summary: 'Returns an empty object, so that agents start; the same for every path below',
  body: { description: 'Ignored.', content: { 'application/json': {} }, isRequired: false },
  replies: { 200: jsonDoc('An empty object.', objectOf({})) },
  example: { body: { type: 'application/json', value: {} } },
};
