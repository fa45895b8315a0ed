import type { SetLogFilterResponse } from '#shared/contracts/gen/admin';
import { AlmanacError } from '#shared/errors/almanac-error';
import { parseDurationMs } from '#shared/time/duration';

import { jsonReply, send, textReply, type HttpReply } from '../../reply.js';
import type { RequestContext } from '../../request-context.js';
import type { AdminEndpoint } from '../endpoint.js';
import { withBody } from './body.js';
import { onNodes } from './nodes.js';

const REPLY_MS_MAX = 5_000;
/** Longest time for which a filter may be set; one that is to stay longer is set for good. */
const FOR_MS_MAX = 24 * 3_600_000;

/**
 * Returns or replaces the filter of the log, `info,ingester.wal=debug`, of one process or, with `?node=all`, of all; with
 * `?for=10m` for some time.
 */
export const logLevelEndpoint: AdminEndpoint = {
  methods: ['GET', 'POST'],
  path: '/debug/log_level',
  handler: (deps) => async (context) => {
    const call = context.call(REPLY_MS_MAX);
    const isJson = isJsonWanted(context);
    if (context.request.method !== 'POST') {
      const read = { filter: '', forMs: 0 };
      const state = await onNodes(context, deps, 'own', (admin) => admin.setLogFilter(read, call), call);
      return send(context, isJson ? stateReply(state) : textReply(200, `${state.current}\n`));
    }
    const forText = context.query.get('for');
    const forMs = forText === null ? 0 : timeOf(forText);
    const filter = await withBody(context, deps, call, (bytes) => bytes.toString().trim());
    if (filter === '') throw new AlmanacError('invalid_arguments', 'Invalid request parameter: Invalid filter ""');
    const state = await onNodes(context, deps, 'own', (admin) => admin.setLogFilter({ filter, forMs }, call), call);
    if (isJson) return send(context, stateReply(state));
    const limit = forText === null ? '' : ` for ${forText}`;
    send(context, textReply(200, `Log Level changed from ${state.previous} to ${state.current}${limit}`));
  },
};

function isJsonWanted({ query }: RequestContext): boolean {
  const output = query.get('output') ?? 'text';
  if (output === 'json' || output === 'text') return output === 'json';
  throw new AlmanacError('invalid_arguments', `output "${output.slice(0, 60)}" is neither text nor json`);
}

function timeOf(text: string): number {
  const ms = parseDurationMs(text);
  if (ms >= 1_000 && ms <= FOR_MS_MAX) return ms;
  throw new AlmanacError('invalid_arguments', `"for" must be from 1s to 24h, not "${text.slice(0, 60)}"`);
}

function stateReply({ current, untilMs, next }: SetLogFilterResponse): HttpReply {
  const end = untilMs === 0 ? { until: null, next: null } : { until: new Date(untilMs).toISOString(), next };
  return jsonReply(200, { filter: current, ...end });
}
