import type { Call } from '#shared/contracts/call';
import { AlmanacError } from '#shared/errors/almanac-error';

import { METADATA_ID } from './peers.js';
import type { RequestContext } from '../request-context.js';
import type { AdminDeps, NodeAdmin } from '../admin/endpoint.js';

/** Longest time for the reply of the process that a request names. */
const REPLY_MS_MAX = 5_000;

/**
 * Calls the process that `?node=` names, or this one by default.
 *
 * @throws `invalid_arguments` if there is no such node; `external` if it does not reply.
 */
export async function callNode<T>(
  context: RequestContext,
  deps: AdminDeps,
  run: (admin: NodeAdmin, call: Call) => Promise<T>,
): Promise<T> {
  const call = deps.newCall(context.requestId, REPLY_MS_MAX);
  const named = context.query.get('node');
  const own = await deps.admin.status({}, call);
  if (named === null || (named === String(own.nodeId) && own.nodeId !== 0)) return run(deps.admin, call);
  const nodeId = named === 'metadata' ? METADATA_ID : nodeIdOf(named);
  // A standalone process is its own metadata service.
  if (deps.peers === undefined && nodeId === METADATA_ID) return run(deps.admin, call);
  const peer = deps.peers?.find(nodeId);
  if (peer?.admin === undefined) throw new AlmanacError('invalid_arguments', `there is no node ${named}, see /status`);
  try {
    return await run(peer.admin, call);
  } catch (thrown) {
    const error = AlmanacError.from(thrown);
    if (error.code !== 'external' && error.code !== 'deadline_exceeded') throw error;
    const name = nodeId === METADATA_ID ? 'metadata' : `node ${nodeId} (${peer.info.role})`;
    throw new AlmanacError('external', `${name} at ${peer.info.addr} does not answer`, {
      cause: error,
      retryAfterSeconds: 1,
    });
  }
}

function nodeIdOf(text: string): number {
  if (/^[0-9]{1,9}$/.test(text)) return Number(text);
  throw new AlmanacError('invalid_arguments', `node "${text.slice(0, 60)}" is neither a number nor "metadata"`);
}
