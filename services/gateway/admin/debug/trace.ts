import type { Call } from '#shared/contracts/call';
import { AlmanacError } from '#shared/errors/almanac-error';

import { NODE_PARAMETER } from '../../openapi/parameters.js';
import { textDoc, enumOf } from '../../openapi/schemas.js';
import { errorReply, send, textReply } from '../../reply.js';
import type { RequestContext } from '../../request-context.js';
import { callNode, DIAGNOSIS_GROUP, type AdminDeps, type AdminEndpoint } from '../endpoint.js';
import { withBody } from './body.js';
import { onNodes } from './nodes.js';

const CALL_MS_MAX = 10_000;

/** Returns whether spans are recorded, or turns that on and off: in all processes, or in the one that `?node=` names. */
export const traceEndpoint: AdminEndpoint = {
  methods: ['GET', 'POST'],
  path: '/debug/enable_trace',
  doc: {
    group: DIAGNOSIS_GROUP,
    summary: 'Reports whether spans are recorded',
    parameters: [NODE_PARAMETER],
    replies: { 200: textDoc('The state.', '^trace (enabled|disabled)$') },
    example: {},
    byMethod: {
      POST: {
        summary: 'Turns the recording of spans on or off',
        body: { description: 'Whether they are recorded.', content: { 'text/plain': enumOf('true', 'false') } },
        example: { body: { type: 'text/plain', value: 'false' } },
      },
    },
  },
  handler: (deps) => async (context) => {
    const call = context.call(CALL_MS_MAX);
    try {
      const { enabled } = await reached(context, deps, call);
      send(context, textReply(200, enabled ? 'trace enabled' : 'trace disabled'));
    } catch (thrown) {
      const error = AlmanacError.from(thrown);
      if (error.code !== 'external') throw error;
      send(context, errorReply(context, error, 503));
    }
  },
};

async function reached(context: RequestContext, deps: AdminDeps, call: Call): Promise<{ enabled: boolean }> {
  if (context.request.method !== 'POST') {
    return callNode(context, deps, (admin) => admin.setTracing({ change: '' }, call), call);
  }
  const text = await withBody(context, deps, call, (bytes) => bytes.toString().trim());
  if (text !== 'true' && text !== 'false') {
    const shown = text.slice(0, 60);
    const message = `Invalid request parameter: Invalid parameter "enable": "${shown}" is neither true nor false`;
    throw new AlmanacError('invalid_arguments', message);
  }
  const change = text === 'true' ? 'enable' : 'disable';
  return onNodes(context, deps, 'all', (admin) => admin.setTracing({ change }, call), call);
}
