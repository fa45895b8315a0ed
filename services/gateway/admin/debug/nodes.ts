import type { Call } from '#shared/contracts/call';

import type { RequestContext } from '../../request-context.js';
import { callNode, type AdminDeps, type NodeAdmin } from '../endpoint.js';

/**
 * Calls the processes that `?node=` names: one, or all of them.
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
  const others = peers.flatMap(({ info, admin }) => (info.state === 'left' || admin === undefined ? [] : [admin]));
  await Promise.all(others.map(run));
  return own;
}
