import { sendText } from '../answer.js';
import type { AdminEndpoint } from './endpoint.js';

/** The effective configuration as TOML, secrets masked. */
export const config: AdminEndpoint = {
  methods: ['GET'],
  path: '/config',
  handler:
    ({ admin, newCall }) =>
    async (context) => {
      const { toml } = await admin.config({}, newCall(context.requestId));
      sendText(context, 200, toml);
    },
};
