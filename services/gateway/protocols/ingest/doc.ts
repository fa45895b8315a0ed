import { PIPELINE_ERRORS } from '../../openapi/error-forms.js';
import {
  DATABASE_PARAMETERS,
  HINTS_HEADER,
  inQuery,
  PIPELINE_HEADER,
  requiredParameter,
} from '../../openapi/parameters.js';
import type { RouteDoc, RouteGroup } from '../../openapi/route-doc.js';
import { enumOf, jsonDoc, listOf, objectOf, TEXT, WHOLE } from '../../openapi/schemas.js';

/** Pipelines, and writes through them. */
export const PIPELINE_GROUP: RouteGroup = {
  name: 'Pipelines',
  description: 'Pipelines turn log lines and JSON into typed columns.',
  page: 'pipelines/README.md',
  errors: PIPELINE_ERRORS,
};

/** Describes the paths of writes through pipelines. */
export const INGEST_DOC: RouteDoc = {
  group: PIPELINE_GROUP,
  summary: 'Writes items through a pipeline',
  parameters: [
    ...DATABASE_PARAMETERS,
    requiredParameter(inQuery('table', 'Table of the rows.')),
    inQuery('pipeline_name', 'Name of the pipeline; also by header.'),
    PIPELINE_HEADER,
    inQuery('version', 'Version of the pipeline. Default: the newest.'),
    inQuery('on_error', 'What becomes of items that fail.', enumOf('fail', 'skip', 'store')),
    HINTS_HEADER,
  ],
  body: {
    description: 'Items: lines of text or of JSON, or a JSON object or list.',
    content: { 'text/plain': TEXT, 'application/x-ndjson': TEXT, 'application/json': {} },
  },
  replies: {
    200: jsonDoc(
      'The number of rows that were stored.',
      objectOf({
        output: listOf(objectOf({ affectedrows: WHOLE })),
        'failed?': WHOLE,
        'skipped?': WHOLE,
        execution_time_ms: WHOLE,
      }),
    ),
  },
  example: {
    parameters: { table: 'notes', pipeline_name: 'greptime_identity' },
    body: { type: 'application/json', value: [{ message: 'order placed' }] },
  },
};
