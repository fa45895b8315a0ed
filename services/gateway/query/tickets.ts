import { TICKET_MS } from '#shared/auth/ticket';
import { AlmanacError } from '#shared/errors/almanac-error';

import { ALMANAC_ERRORS } from '../openapi/error-forms.js';
import type { RouteDoc } from '../openapi/route-doc.js';
import { jsonDoc, objectOf, TEXT, WHOLE } from '../openapi/schemas.js';
import { errorReply } from '../reply.js';
import type { Handler } from '../request-context.js';
import { queryRoute, type QueryDeps, type QueryReply } from './query-route.js';

/** The path of tickets. */
interface TicketsRoute {
  readonly methods: readonly ['POST'];
  readonly path: string;
  readonly handler: Handler;
  readonly doc: RouteDoc;
}

const PATH = '/v1/tickets';
/** The line of a request has to fit into its headers. */
const TARGET_LENGTH_MAX = 8192;
const TIMEOUT_MS = 10_000;

const DOC: RouteDoc = {
  group: {
    name: 'Tickets',
    description: 'URLs that work once without credentials, such as the links of a page, which cannot send headers.',
    page: 'security.md',
    errors: ALMANAC_ERRORS,
  },
  summary: 'Returns a URL by which one GET request may do what the user of this request may',
  body: {
    description: 'The path below `/v1`, with its query.',
    content: { 'application/json': objectOf({ path: TEXT }) },
  },
  replies: {
    200: jsonDoc(
      'The path with a ticket, which is valid once, for a minute. Without users it is the path itself.',
      objectOf({ url: TEXT, expires_in_ms: WHOLE, execution_time_ms: WHOLE }),
    ),
  },
  example: { body: { type: 'application/json', value: { path: '/v1/sql?sql=SELECT+1&format=csv' } } },
};

/** Returns the route that issues tickets. */
export function ticketsRoute(deps: QueryDeps): TicketsRoute {
  const handler = queryRoute<string>(
    {
      timeoutMs: () => TIMEOUT_MS,
      hasBody: () => true,
      parameters: (_context, body) => targetOf(body?.toString() ?? ''),
      run: async (target, call, context): Promise<QueryReply> => {
        const url = (await context.admission?.issueTicket(context, target, call)) ?? target;
        return { json: { url, expires_in_ms: TICKET_MS, execution_time_ms: context.elapsedMs } };
      },
      isTimed: true,
      failure: (context, error) => errorReply(context, error),
    },
    deps,
  );
  return { methods: ['POST'], path: PATH, handler, doc: DOC };
}

/** Reads the path of a request for a ticket. @throws `invalid_arguments`. */
function targetOf(body: string): string {
  let path: unknown;
  try {
    ({ path } = JSON.parse(body) as { readonly path?: unknown });
  } catch {
    path = undefined;
  }
  if (typeof path === 'string' && path.length <= TARGET_LENGTH_MAX && isAsBrowsersSendIt(path)) return path;
  const form = `{"path": "/v1/.."}, encoded as browsers do, of at most ${TARGET_LENGTH_MAX} characters`;
  throw new AlmanacError('invalid_arguments', `the body must be ${form}`);
}

/** Whether a path below `/v1` stays as it is when it is the URL of a link. */
function isAsBrowsersSendIt(path: string): boolean {
  if (!path.startsWith('/v1/') || !URL.canParse(path, 'http://localhost')) return false;
  const { pathname, search } = new URL(path, 'http://localhost');
  return pathname !== '/v1/' && pathname + search === path;
}
