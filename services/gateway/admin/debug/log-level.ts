import type { Call } from '#shared/contracts/call';
import { AlmanacError } from '#shared/errors/almanac-error';

import type { RequestContext } from '../../request-context.js';
import { send, textReply } from '../../reply.js';
import { callNode, type AdminDeps, type AdminEndpoint } from '../endpoint.js';
import { withBody } from './body.js';

const REPLY_MS_MAX = 5_000;

/** Returns or replaces the filter of the log, `info,ingester.wal=debug`, of one process or, with `?node=all`, of all. */
export const logLevelEndpoint: AdminEndpoint = {
  methods: ['GET', 'POST'],
  path: '/debug/log_level',
  handler: (deps) => async (context) => {
    const call = context.call(REPLY_MS_MAX);
    if (context.request.method !== 'POST') {
      const { current } = await change(context, deps, '', call);
      return send(context, textReply(200, `${current}\n`));
    }
    const filter = await withBody(context, deps, call, (bytes) => bytes.toString().trim());
    if (filter === '') throw new AlmanacError('invalid_arguments', 'Invalid request parameter: Invalid filter ""');
    const { previous, current } = await change(context, deps, filter, call);
    send(context, textReply(200, `Log Level changed from ${previous} to ${current}`));
  },
};

/**
 * @param filter empty: only read.
 * @returns the filters of the named process, or of this one.
 */
async function change(
  context: RequestContext,
  deps: AdminDeps,
  filter: string,
  call: Call,
): Promise<{ previous: string; current: string }> {
  if (context.query.get('node') !== 'all') {
    return callNode(context, deps, (admin) => admin.setLogFilter({ filter }, call), call);
  }
  const own = await deps.admin.setLogFilter({ filter }, call);
  const peers = (await deps.peers?.list(call)) ?? [];
  const others = peers.flatMap(({ info, admin }) => (info.state === 'left' || admin === undefined ? [] : [admin]));
  // This process may be among them; it gets the same filter again.
  await Promise.all(others.map((admin) => admin.setLogFilter({ filter }, call)));
  return own;
}
