import { send, sendText } from '../answer.js';
import type { RequestContext } from '../request-context.js';
import type { AdminEndpoint } from './endpoint.js';

/** The process runs and answers; nothing more. */
export const health: AdminEndpoint = { methods: ['GET', 'POST'], path: '/health', handler: () => answer };
export const healthUnderApi: AdminEndpoint = { methods: ['GET', 'POST'], path: '/v1/health', handler: () => answer };

export const healthText: AdminEndpoint = {
  methods: ['GET'],
  path: '/-/healthy',
  handler: () => (context) => sendText(context, 200, 'Almanac is Healthy.\n'),
};

/** Where `promtool` asks. */
export const healthTextForPrometheus: AdminEndpoint = { ...healthText, path: '/v1/prometheus/-/healthy' };

function answer(context: RequestContext): void {
  context.request.resume();
  send(context, { status: 200, headers: { 'content-type': 'application/json' }, body: '{}' });
}
