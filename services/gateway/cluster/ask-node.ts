import type { Call } from '#shared/contracts/call';
import { AlmanacError } from '#shared/errors/almanac-error';

import { METADATA_ID } from './peers.js';
import type { RequestContext } from '../request-context.js';
import type { AdminDeps, NodeAdmin } from '../admin/endpoint.js';

/** How long the process that a request names may take to answer. */
const ANSWER_MS_MAX = 5_000;

/**
 * Asks the process that `?node=` names, or this one if nothing does.
 *
 * @throws `invalid_arguments` if there is no such node; `external` if it does not answer.
 */
export async function askNode<T>(
  context: RequestContext,
  deps: AdminDeps,
  question: (admin: NodeAdmin, call: Call) => Promise<T>,
): Promise<T> {
  const call = deps.newCall(context.requestId, ANSWER_MS_MAX);
  const asked = context.query.get('node');
  const own = await deps.admin.status({}, call);
  if (asked === null || (asked === String(own.nodeId) && own.nodeId !== 0)) return question(deps.admin, call);
  const nodeId = asked === 'metadata' ? METADATA_ID : numberOf(asked);
  // One process is its own metadata.
  if (deps.peers === undefined && nodeId === METADATA_ID) return question(deps.admin, call);
  const peer = deps.peers?.find(nodeId);
  if (peer?.admin === undefined) throw new AlmanacError('invalid_arguments', `there is no node ${asked}, see /status`);
  try {
    return await question(peer.admin, call);
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

function numberOf(text: string): number {
  if (/^[0-9]{1,9}$/.test(text)) return Number(text);
  throw new AlmanacError('invalid_arguments', `node "${text.slice(0, 60)}" is neither a number nor "metadata"`);
}
