import { send } from '../answer.js';
import type { AdminEndpoint } from './endpoint.js';

/** All metrics of the process in Prometheus's text format. */
export const metrics: AdminEndpoint = {
  methods: ['GET'],
  path: '/metrics',
  handler:
    ({ admin, newCall }) =>
    async (context) => {
      const accept = context.request.headers.accept ?? '';
      const openMetrics = accept.includes('application/openmetrics-text');
      const { contentType, text } = await admin.metrics({ openMetrics }, newCall(context.requestId));
      send(context, { status: 200, headers: { 'content-type': contentType }, body: text });
    },
};
