import type { Call } from '#shared/contracts/call';
import { AlmanacError } from '#shared/errors/almanac-error';

import type { Peer } from '../../cluster/peers.js';
import type { RequestContext } from '../../request-context.js';
import { callNode, type AdminDeps, type NodeAdmin } from '../endpoint.js';

/**
 * Calls the processes that `?node=` names: one, or all of them. Of all, one that is gone need not reply.
 *
 * @param byDefault which without the parameter.
 * @returns the result of the named process, or of this one if it is all.
 * @throws as `callNode` does.
 */
export async function onNodes<T>(
  context: RequestContext,
  deps: AdminDeps,
  byDefault: 'own' | 'all',
  run: (admin: NodeAdmin) => Promise<T>,
  call: Call,
): Promise<T> {
  const named = context.query.get('node') ?? byDefault;
  if (named !== 'all') return callNode(context, deps, run, call);
  const own = await run(deps.admin);
  const peers = (await deps.peers?.list(call)) ?? [];
  // This process may be among them; it is called again.
  await Promise.all(peers.map((peer) => runOn(peer, run)));
  return own;
}

/** Calls a process. One that is gone may still run, and have lost only its connection to the metadata service. */
async function runOn({ info, admin }: Peer, run: (admin: NodeAdmin) => Promise<unknown>): Promise<void> {
  if (info.state === 'left' || admin === undefined) return;
  try {
    await run(admin);
  } catch (thrown) {
    const error = AlmanacError.from(thrown);
    if (info.state !== 'gone' || (error.code !== 'external' && error.code !== 'deadline_exceeded')) throw error;
  }
}
