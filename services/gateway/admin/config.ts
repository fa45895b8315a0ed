import { sendText } from '../answer.js';
import { askNode } from '../cluster/ask-node.js';
import type { AdminEndpoint } from './endpoint.js';

/** The effective configuration as TOML, secrets masked. */
export const config: AdminEndpoint = {
  methods: ['GET'],
  path: '/config',
  handler: (deps) => async (context) => {
    const { toml } = await askNode(context, deps, (admin, call) => admin.config({}, call));
    sendText(context, 200, toml);
  },
};
