import { jsonDoc, objectOf, textDoc } from '../openapi/schemas.js';
import type { RouteDoc } from '../openapi/route-doc.js';
import { send, textReply } from '../reply.js';
import type { RequestContext } from '../request-context.js';
import { STATE_GROUP, type AdminEndpoint } from './endpoint.js';

const healthText: AdminEndpoint = {
  methods: ['GET'],
  path: '/-/healthy',
  doc: {
    group: STATE_GROUP,
    isOpen: true,
    summary: 'Reports that the process runs, as a line of text',
    replies: { 200: textDoc('The process runs.', 'Healthy') },
    example: {},
  },
  handler: () => (context) => send(context, textReply(200, 'Almanac is Healthy.\n')),
};

const HEALTH_DOC: RouteDoc = {
  group: STATE_GROUP,
  isOpen: true,
  summary: 'Reports that the process runs',
  replies: { 200: jsonDoc('The process runs.', objectOf({})) },
  example: {},
};

/** Report that the process runs, and nothing else. The last one is the path of `promtool`. */
export const healthEndpoints: readonly AdminEndpoint[] = [
  { methods: ['GET', 'POST'], path: '/health', handler: () => replyHealthy, doc: HEALTH_DOC },
  { methods: ['GET', 'POST'], path: '/v1/health', handler: () => replyHealthy, doc: HEALTH_DOC },
  healthText,
  { ...healthText, path: '/v1/prometheus/-/healthy' },
];

function replyHealthy(context: RequestContext): void {
  context.request.resume();
  send(context, { status: 200, headers: { 'content-type': 'application/json' }, body: '{}' });
}
