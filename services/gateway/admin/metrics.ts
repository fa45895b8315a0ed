import { send } from '../answer.js';
import { askNode } from '../cluster/ask-node.js';
import type { AdminEndpoint } from './endpoint.js';

/** All metrics of a process in Prometheus's text format. */
export const metrics: AdminEndpoint = {
  methods: ['GET'],
  path: '/metrics',
  handler: (deps) => async (context) => {
    const accept = context.request.headers.accept ?? '';
    const openMetrics = accept.includes('application/openmetrics-text');
    const { contentType, text } = await askNode(context, deps, (admin, call) => admin.metrics({ openMetrics }, call));
    send(context, { status: 200, headers: { 'content-type': contentType }, body: text });
  },
};
