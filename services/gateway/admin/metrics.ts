import { send } from '../reply.js';
import { callNode, type AdminEndpoint } from './endpoint.js';

/** Returns all metrics of a process in Prometheus's text format. */
export const metricsEndpoint: AdminEndpoint = {
  methods: ['GET'],
  path: '/metrics',
  handler: (deps) => async (context) => {
    const accept = context.request.headers.accept ?? '';
    const openMetrics = accept.includes('application/openmetrics-text');
    const { contentType, text } = await callNode(context, deps, (admin, call) => admin.metrics({ openMetrics }, call));
    send(context, { status: 200, headers: { 'content-type': contentType }, body: text });
  },
};
