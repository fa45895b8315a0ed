import type { SetLogFilterResponse } from '#shared/contracts/gen/admin';
import { AlmanacError } from '#shared/errors/almanac-error';
import { parseDurationMs } from '#shared/time/duration';

import { inQuery, NODE_PARAMETER } from '../../openapi/parameters.js';
import { enumOf, objectOf, orNull, TEXT, TIME_TEXT } from '../../openapi/schemas.js';
import { jsonReply, send, textReply, type HttpReply } from '../../reply.js';
import type { RequestContext } from '../../request-context.js';
import { DIAGNOSIS_GROUP, type AdminEndpoint } from '../endpoint.js';
import { withBody } from './body.js';
import { onNodes } from './nodes.js';

const REPLY_MS_MAX = 5_000;
/** Longest time for which a filter may be set; one that is to stay longer is set for good. */
const FOR_MS_MAX = 24 * 3_600_000;

const OUTPUT = inQuery('output', 'Form of the reply. Default: `text`.', enumOf('text', 'json'));
const FILTER = objectOf({ filter: TEXT, until: orNull(TIME_TEXT), next: orNull(TEXT) });
const LEVEL_NODE = { ...NODE_PARAMETER, description: `${NODE_PARAMETER.description} \`all\`: all processes.` };

/**
 * Returns or replaces the filter of the log, `info,ingester.wal=debug`, of one process or, with `?node=all`, of all; with
 * `?for=10m` for some time.
 */
export const logLevelEndpoint: AdminEndpoint = {
  methods: ['GET', 'POST'],
  path: '/debug/log_level',
  doc: {
    group: DIAGNOSIS_GROUP,
    summary: 'Returns the filter of the log',
    parameters: [OUTPUT, LEVEL_NODE],
    replies: {
      200: { description: 'The filter.', content: { 'text/plain': TEXT, 'application/json': FILTER } },
    },
    example: { parameters: { output: 'json' } },
    byMethod: {
      POST: {
        summary: 'Replaces the filter of the log',
        parameters: [OUTPUT, LEVEL_NODE, inQuery('for', 'Time after which the filter is restored: `1s` to `24h`.')],
        body: { description: 'A filter, such as `info,gateway=debug`.', content: { 'text/plain': TEXT } },
        example: { parameters: { for: '10s' }, body: { type: 'text/plain', value: 'info' } },
      },
    },
  },
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
