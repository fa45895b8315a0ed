import { requestJson } from '../core/http.js';
import type { ServerNode } from './server-node.js';

/** Returns all processes, in the order of their roles. */
export async function loadNodes(signal: AbortSignal): Promise<readonly ServerNode[]> {
  const { cluster } = await requestJson<{ cluster: readonly ServerNode[] }>('status', { signal });
  return [...cluster].sort((a, b) => orderOf(a) - orderOf(b) || a.node_id - b.node_id);
}

const ROLES = ['standalone', 'gateway', 'querier', 'ingester', 'metadata'];

function orderOf({ role }: ServerNode): number {
  return (ROLES.indexOf(role) + ROLES.length + 1) % (ROLES.length + 1);
}
