import type { RouteDoc } from '../openapi/route-doc.js';
import { enumOf, jsonDoc, listOf, NUMBER, objectOf, TEXT, textDoc } from '../openapi/schemas.js';
import { jsonReply, send, textReply } from '../reply.js';
import { STATE_GROUP, type AdminDeps, type AdminEndpoint } from './endpoint.js';

const readyText: AdminEndpoint = {
  methods: ['GET'],
  path: '/-/ready',
  doc: {
    group: STATE_GROUP,
    isOpen: true,
    summary: 'Reports whether writes and queries are possible, as a line of text',
    replies: { 200: textDoc('They are possible.', 'Ready'), 503: textDoc('They are not possible.') },
    example: {},
  },
  handler: (deps) => (context) => {
    const problem = notReady(deps);
    if (problem === undefined) send(context, textReply(200, 'Almanac is Ready.\n'));
    else send(context, textReply(503, `Almanac is not ready: ${problem.status}.\n`));
  },
};

const READY_DOC: RouteDoc = {
  group: STATE_GROUP,
  isOpen: true,
  summary: 'Reports whether writes and queries are possible',
  replies: {
    200: jsonDoc('They are possible.', objectOf({})),
    503: jsonDoc(
      'They are not possible.',
      objectOf({ status: enumOf('starting', 'waiting', 'draining'), waiting: listOf(TEXT), progress: NUMBER }),
    ),
  },
  example: {},
};

/**
 * Report whether writes and queries are possible, and if not, why and how far the start is. The last one is the path of
 * `promtool`.
 */
export const readyEndpoints: readonly AdminEndpoint[] = [
  {
    methods: ['GET', 'POST'],
    path: '/ready',
    doc: READY_DOC,
    handler: (deps) => (context) => {
      context.request.resume();
      const problem = notReady(deps);
      send(context, jsonReply(problem === undefined ? 200 : 503, problem ?? {}));
    },
  },
  readyText,
  { ...readyText, path: '/v1/prometheus/-/ready' },
];

interface NotReady {
  readonly status: 'starting' | 'waiting' | 'draining';
  readonly waiting: readonly string[];
  readonly progress: number;
}

function notReady({ gate, lackingRoles }: AdminDeps): NotReady | undefined {
  if (gate.isDraining) return { status: 'draining', waiting: [], progress: 1 };
  const { ready, waiting, progress } = gate.readiness;
  if (ready) {
    const lacking = lackingRoles();
    return lacking.length === 0 ? undefined : { status: 'waiting', waiting: lacking, progress: 1 };
  }
  return { status: 'starting', waiting, progress: Math.round(progress * 1_000) / 1_000 };
}
