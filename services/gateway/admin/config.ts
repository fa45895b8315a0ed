import { send, textReply } from '../reply.js';
import { callNode, type AdminEndpoint } from './endpoint.js';

/** Returns the effective configuration as TOML, with masked secrets; with `?sources=true` also where each value came from. */
export const configEndpoint: AdminEndpoint = {
  methods: ['GET'],
  path: '/config',
  handler: (deps) => async (context) => {
    const sources = context.query.get('sources') === 'true';
    const { toml } = await callNode(context, deps, (admin, call) => admin.config({ sources }, call));
    send(context, textReply(200, toml));
  },
};
