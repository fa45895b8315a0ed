import { DATABASE_PARAMETERS, inPath, inQuery, requiredParameter } from '../openapi/parameters.js';
import type { RouteDoc } from '../openapi/route-doc.js';
import { ANY_VALUE, anyOf, FLAG, jsonDoc, listOf, objectOf, TEXT, WHOLE } from '../openapi/schemas.js';
import { PIPELINE_GROUP } from '../protocols/ingest/doc.js';

const NAME = inPath('name', 'Name of the pipeline.');
const VERSION = inQuery('version', 'Version of the pipeline. Default: the newest.');
const TABLE = inQuery('table', 'Name of a table.');
const VERSIONS = listOf(objectOf({ name: TEXT, version: TEXT }));
const LIST = objectOf({ pipelines: VERSIONS, execution_time_ms: WHOLE });
const YAML = 'transform: [{field: n, type: int32}, {field: time, type: epoch, index: timestamp}]\n';

/** Describes the paths that manage pipelines and try them. */
export const PIPELINE_DOCS = {
  list: {
    group: PIPELINE_GROUP,
    summary: 'Lists pipelines',
    parameters: [inQuery('name', 'How the name begins.'), inQuery('all', '`true`: also older versions.')],
    replies: { 200: jsonDoc('The newest version of each.', LIST) },
    example: {},
  },
  tryItems: {
    group: PIPELINE_GROUP,
    summary: 'Runs a pipeline over items without storing anything',
    parameters: [inQuery('pipeline_name', 'Name of a stored pipeline.'), VERSION],
    body: {
      description: 'The pipeline, or the name of a stored one, and up to ten items.',
      content: {
        'application/json': anyOf(
          {
            ...objectOf({ 'pipeline?': TEXT, 'pipeline_name?': TEXT, 'data?': ANY_VALUE, 'explain?': FLAG }),
            additionalProperties: true,
          },
          listOf(ANY_VALUE),
        ),
      },
    },
    replies: {
      200: jsonDoc(
        'The rows by table; with `explain` also what each processor did.',
        anyOf(listOf({ type: 'object' }), { type: 'object' }),
      ),
    },
    example: {
      body: {
        type: 'application/json',
        value: { pipeline: 'transform: [{field: n, type: int32}]', data: [{ n: 1 }, { n: '2' }] },
      },
    },
  },
  upload: {
    group: PIPELINE_GROUP,
    summary: 'Stores a new version of a pipeline',
    parameters: [NAME, inQuery('table', 'Table whose changes the reply lists.'), ...DATABASE_PARAMETERS],
    body: {
      description: 'The pipeline. It may also be the first field of a form.',
      content: { 'application/yaml': TEXT, 'multipart/form-data': { type: 'object' } },
    },
    replies: {
      200: jsonDoc('The new version.', {
        ...objectOf({ pipelines: VERSIONS, 'warnings?': listOf(TEXT), execution_time_ms: WHOLE }),
        additionalProperties: true,
      }),
    },
    example: { parameters: { name: 'numbers' }, body: { type: 'application/yaml', value: YAML } },
  },
  show: {
    group: PIPELINE_GROUP,
    summary: 'Returns a pipeline',
    parameters: [NAME, VERSION],
    replies: {
      200: jsonDoc(
        'The pipeline.',
        objectOf({
          pipelines: listOf(objectOf({ name: TEXT, version: TEXT, pipeline: TEXT })),
          execution_time_ms: WHOLE,
        }),
      ),
    },
    example: { parameters: { name: 'numbers' } },
  },
  remove: {
    group: PIPELINE_GROUP,
    summary: 'Deletes a version of a pipeline',
    parameters: [NAME, requiredParameter(inQuery('version', 'The version.'))],
    replies: { 200: jsonDoc('The version, if it existed.', LIST) },
    example: { parameters: { name: 'numbers', version: '2024-06-27 12:02:34.257312110' } },
  },
  ddl: {
    group: PIPELINE_GROUP,
    summary: 'Returns the statement that creates the table of a pipeline',
    parameters: [NAME, requiredParameter(TABLE), VERSION, ...DATABASE_PARAMETERS],
    replies: {
      200: jsonDoc(
        'The statement.',
        objectOf({ sql: objectOf({ sql: TEXT, 'message?': TEXT }), execution_time_ms: WHOLE }),
      ),
    },
    example: { parameters: { name: 'numbers', table: 'n' } },
  },
  replay: {
    group: PIPELINE_GROUP,
    summary: 'Runs items again that failed and were stored',
    parameters: [
      NAME,
      requiredParameter(TABLE),
      VERSION,
      inQuery('limit', 'Largest number of items. Default: 10,000.', WHOLE),
      ...DATABASE_PARAMETERS,
    ],
    replies: {
      200: jsonDoc('The numbers of items.', objectOf({ replayed: WHOLE, failed: WHOLE, execution_time_ms: WHOLE })),
    },
    example: { parameters: { name: 'numbers', table: 'n' }, status: 400 },
  },
} as const satisfies Readonly<Record<string, RouteDoc>>;
