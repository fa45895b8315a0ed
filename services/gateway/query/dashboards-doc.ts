import { ALMANAC_ERRORS } from '../openapi/error-forms.js';
import { DATABASE_PARAMETERS, inHeader, inPath } from '../openapi/parameters.js';
import type { RouteDoc, RouteGroup } from '../openapi/route-doc.js';
import { jsonDoc, listOf, objectOf, TEXT, WHOLE } from '../openapi/schemas.js';

const GROUP: RouteGroup = {
  name: 'Dashboards',
  description: 'Texts with a name that a database keeps, such as the dashboards of the web interface.',
  page: 'dashboard/dashboards.md',
  errors: ALMANAC_ERRORS,
};
const NAME = inPath('name', 'Name of the dashboard.');
const NAMES = objectOf({ dashboards: listOf(objectOf({ name: TEXT })), execution_time_ms: WHOLE });
const STORED = objectOf({ dashboards: listOf(objectOf({ name: TEXT, etag: TEXT })), execution_time_ms: WHOLE });
const WHOLE_TEXTS = objectOf({
  dashboards: listOf(objectOf({ name: TEXT, definition: TEXT, etag: TEXT })),
  execution_time_ms: WHOLE,
});
const ERROR = objectOf({ code: WHOLE, error: TEXT, execution_time_ms: WHOLE });
const MISSING = jsonDoc('There is no such dashboard.', ERROR);

/** Describes the paths of saved dashboards. */
export const DASHBOARD_DOCS = {
  list: {
    group: GROUP,
    summary: 'Lists the dashboards of a database',
    parameters: DATABASE_PARAMETERS,
    replies: { 200: jsonDoc('All dashboards, by name.', WHOLE_TEXTS) },
    example: {},
  },
  show: {
    group: GROUP,
    summary: 'Returns a dashboard',
    parameters: [NAME, ...DATABASE_PARAMETERS],
    replies: { 200: jsonDoc('The dashboard.', WHOLE_TEXTS), 404: MISSING },
    example: { parameters: { name: 'web' } },
  },
  store: {
    group: GROUP,
    summary: 'Stores a dashboard, or replaces it',
    parameters: [
      NAME,
      ...DATABASE_PARAMETERS,
      inHeader('if-match', 'Replaces only the dashboard with this `etag`, in quotes.'),
      inHeader('if-none-match', '`*`: stores it only if there is none.'),
    ],
    body: {
      description: 'The dashboard, as any text of up to 1 MiB.',
      content: { 'application/json': { type: 'object' }, 'text/plain': TEXT },
    },
    replies: {
      200: jsonDoc('The name, and the etag.', STORED),
      412: jsonDoc('There is another dashboard than the one to replace.', ERROR),
    },
    example: {
      parameters: { name: 'web' },
      body: { type: 'application/json', value: { almanac: 1, title: 'Web servers', panels: [] } },
    },
  },
  remove: {
    group: GROUP,
    summary: 'Deletes a dashboard',
    parameters: [NAME, ...DATABASE_PARAMETERS],
    replies: { 200: jsonDoc('The name.', NAMES), 404: MISSING },
    example: { parameters: { name: 'web' } },
  },
} as const satisfies Readonly<Record<string, RouteDoc>>;
