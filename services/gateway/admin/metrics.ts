import { NODE_PARAMETER } from '../openapi/parameters.js';
import { TEXT } from '../openapi/schemas.js';
import { send } from '../reply.js';
import { callNode, STATE_GROUP, type AdminEndpoint } from './endpoint.js';

/** Returns all metrics of a process in Prometheus's text format, or as OpenMetrics if the client prefers it. */
export const metricsEndpoint: AdminEndpoint = {
  methods: ['GET'],
  path: '/metrics',
  doc: {
    group: STATE_GROUP,
    summary: 'Returns all metrics of a process',
    description: 'Needs credentials only if `auth.metrics` is `required`.',
    parameters: [NODE_PARAMETER],
    replies: {
      200: {
        description: "Prometheus's text format, or OpenMetrics if the client prefers it.",
        content: { 'text/plain': TEXT, 'application/openmetrics-text': TEXT },
      },
    },
    example: {},
  },
  handler: (deps) => async (context) => {
    const accept = context.request.headers.accept ?? '';
    const openMetrics = weightOf('application/openmetrics-text', accept) > weightOf('text/plain', accept);
    const { contentType, text } = await callNode(context, deps, (admin, call) => admin.metrics({ openMetrics }, call));
    send(context, { status: 200, headers: { 'content-type': contentType }, body: text });
  },
};

/** Returns how much a client wants a media type, 0 to 1. @param accept header in which it is named. */
function weightOf(type: string, accept: string): number {
  const weights = accept.split(',').flatMap((range) => {
    const [name, ...parameters] = range.split(';').map((part) => part.trim().toLowerCase());
    if (name !== type) return [];
    const weight = parameters.find((parameter) => parameter.startsWith('q='))?.slice(2) ?? '1';
    return [Number(weight)];
  });
  return Math.max(0, ...weights.filter((weight) => weight <= 1));
}
