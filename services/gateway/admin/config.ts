import { inQuery, NODE_PARAMETER } from '../openapi/parameters.js';
import { textDoc } from '../openapi/schemas.js';
import { send, textReply } from '../reply.js';
import { callNode, STATE_GROUP, type AdminEndpoint } from './endpoint.js';

/** Returns the effective configuration as TOML, with masked secrets; with `?sources=true` also where each value came from. */
export const configEndpoint: AdminEndpoint = {
  methods: ['GET'],
  path: '/config',
  doc: {
    group: STATE_GROUP,
    summary: 'Returns the effective configuration, without secrets',
    parameters: [NODE_PARAMETER, inQuery('sources', '`true`: also where each value came from.')],
    replies: { 200: textDoc('TOML.') },
    example: { parameters: { sources: 'true' } },
  },
  handler: (deps) => async (context) => {
    const sources = context.query.get('sources') === 'true';
    const { toml } = await callNode(context, deps, (admin, call) => admin.config({ sources }, call));
    send(context, textReply(200, toml));
  },
};
