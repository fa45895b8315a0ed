import { send, textReply } from '../reply.js';
import type { RequestContext } from '../request-context.js';
import type { AdminEndpoint } from './endpoint.js';

const healthText: AdminEndpoint = {
  methods: ['GET'],
  path: '/-/healthy',
  handler: () => (context) => send(context, textReply(200, 'Almanac is Healthy.\n')),
};

/** Report that the process runs, and nothing else. The last one is the path of `promtool`. */
export const healthEndpoints: readonly AdminEndpoint[] = [
  { methods: ['GET', 'POST'], path: '/health', handler: () => replyHealthy },
  { methods: ['GET', 'POST'], path: '/v1/health', handler: () => replyHealthy },
  healthText,
  { ...healthText, path: '/v1/prometheus/-/healthy' },
];

function replyHealthy(context: RequestContext): void {
  context.request.resume();
  send(context, { status: 200, headers: { 'content-type': 'application/json' }, body: '{}' });
}
