import { AlmanacError } from '#shared/errors/almanac-error';

import { send, textReply } from '../../reply.js';
import type { AdminEndpoint } from '../endpoint.js';
import { withBody } from './body.js';
import { onNodes } from './nodes.js';

const REPLY_MS_MAX = 5_000;

/** Returns or replaces the filter of the log, `info,ingester.wal=debug`, of one process or, with `?node=all`, of all. */
export const logLevelEndpoint: AdminEndpoint = {
  methods: ['GET', 'POST'],
  path: '/debug/log_level',
  handler: (deps) => async (context) => {
    const call = context.call(REPLY_MS_MAX);
    if (context.request.method !== 'POST') {
      const { current } = await onNodes(
        context,
        deps,
        'own',
        (admin) => admin.setLogFilter({ filter: '' }, call),
        call,
      );
      return send(context, textReply(200, `${current}\n`));
    }
    const filter = await withBody(context, deps, call, (bytes) => bytes.toString().trim());
    if (filter === '') throw new AlmanacError('invalid_arguments', 'Invalid request parameter: Invalid filter ""');
    const { previous, current } = await onNodes(
      context,
      deps,
      'own',
      (admin) => admin.setLogFilter({ filter }, call),
      call,
    );
    send(context, textReply(200, `Log Level changed from ${previous} to ${current}`));
  },
};
