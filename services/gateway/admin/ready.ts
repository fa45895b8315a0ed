import { sendJson, sendText } from '../answer.js';
import type { AdminDeps, AdminEndpoint } from './endpoint.js';

/** Whether writes and queries are possible. While they are not, it says why and how far the start is. */
export const ready: AdminEndpoint = {
  methods: ['GET', 'POST'],
  path: '/ready',
  handler: (deps) => (context) => {
    context.request.resume();
    const problem = notReady(deps);
    sendJson(context, problem === undefined ? 200 : 503, problem ?? {});
  },
};

export const readyText: AdminEndpoint = {
  methods: ['GET'],
  path: '/-/ready',
  handler: (deps) => (context) => {
    const problem = notReady(deps);
    if (problem === undefined) sendText(context, 200, 'Almanac is Ready.\n');
    else sendText(context, 503, `Almanac is not ready: ${problem.status}.\n`);
  },
};

/** Where `promtool` asks. */
export const readyTextForPrometheus: AdminEndpoint = { ...readyText, path: '/v1/prometheus/-/ready' };

interface NotReady {
  readonly status: 'starting' | 'waiting' | 'draining';
  readonly waiting: readonly string[];
  readonly progress: number;
}

function notReady({ readiness, isDraining, lackingRoles }: AdminDeps): NotReady | undefined {
  if (isDraining()) return { status: 'draining', waiting: [], progress: 1 };
  const state = readiness();
  if (state.ready) {
    const waiting = lackingRoles();
    return waiting.length === 0 ? undefined : { status: 'waiting', waiting, progress: 1 };
  }
  return { status: 'starting', waiting: state.waiting, progress: Math.round(state.progress * 1_000) / 1_000 };
}
