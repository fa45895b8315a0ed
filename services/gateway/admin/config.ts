import { send, textReply } from '../reply.js';
import { callNode, type AdminEndpoint } from './endpoint.js';

/** Returns the effective configuration as TOML, with masked secrets. */
export const configEndpoint: AdminEndpoint = {
  methods: ['GET'],
  path: '/config',
  handler: (deps) => async (context) => {
    const { toml } = await callNode(context, deps, (admin, call) => admin.config({}, call));
    send(context, textReply(200, toml));
  },
};
