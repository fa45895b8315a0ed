import { sendJson } from '../answer.js';
import type { AdminEndpoint } from './endpoint.js';

/** What runs here, since when, and in which state. */
export const status: AdminEndpoint = {
  methods: ['GET'],
  path: '/status',
  handler:
    ({ admin, newCall, nowMs }) =>
    async (context) => {
      const node = await admin.status({}, newCall(context.requestId));
      sendJson(context, 200, {
        commit: node.commit,
        branch: node.branch,
        node_version: node.nodeVersion,
        hostname: node.hostname,
        version: node.version,
        role: node.role,
        node_id: node.nodeId,
        state: node.state,
        uptime_seconds: Math.floor((nowMs() - node.startedMs) / 1_000),
        start_time: new Date(node.startedMs).toISOString(),
        cluster: [
          { role: node.role, node_id: node.nodeId, addr: node.hostname, version: node.version, state: node.state },
        ],
      });
    },
};
