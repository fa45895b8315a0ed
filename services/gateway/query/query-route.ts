import type { IncomingMessage } from 'node:http';

import type { Config } from '#shared/config/schema';
import type { Call } from '#shared/contracts/call';
import type { AnyQuerier } from '#shared/contracts/local-querier';
import { AlmanacError } from '#shared/errors/almanac-error';

import type { GatewayMetrics } from '../metrics.js';
import type { BodyEncoding } from '../protocols/protocol.js';
import type { ReadyGate } from '../ready-gate.js';
import { addHeaders, addInBothNames, jsonReply, send, type HttpReply } from '../reply.js';
import type { Handler, RequestContext } from '../request-context.js';
import type { RequestLog } from '../request-log.js';
import type { SlowQueries } from './slow-queries.js';
import { QUERY_ID, type QueryIds } from './query-ids.js';
import { sendParts, sendStream } from './stream-reply.js';

/** Content encodings that the body of a request may have. */
interface QueryEncodings {
  readonly encodings: readonly BodyEncoding[];
  readonly impliedEncoding?: BodyEncoding;
}

/** A body in memory; `release` frees it. */
interface QueryBody {
  readonly bytes: Buffer;
  release(): void;
}

/** Dependencies of all query routes. */
export interface QueryDeps {
  readonly config: Config;
  readonly querier: AnyQuerier;
  readonly bodies: { read(request: IncomingMessage, encodings: QueryEncodings, call: Call): Promise<QueryBody> };
  readonly metrics: GatewayMetrics;
  readonly log: RequestLog;
  readonly gate: ReadyGate;
  readonly nowMs: () => number;
  readonly slowQueries: Pick<SlowQueries, 'prepare'>;
  readonly queryIds: QueryIds;
}

/** The result of a query. */
export type QueryReply = (
  | { readonly json: unknown }
  /** A whole body, whose type is in `headers`. */
  | { readonly text: string | Uint8Array }
  /** `isPacked`: the bytes are compressed already. */
  | { readonly chunks: AsyncIterable<Uint8Array>; readonly isPacked?: boolean }
  /** A whole body, compressed already; `release` frees its memory. */
  | { readonly parts: readonly Uint8Array[]; release(): void }
) & {
  readonly headers?: Readonly<Record<string, string>>;
  /** Database for metrics, once the query has succeeded. */
  readonly database?: string;
};

/** A route of queries: what differs between the query protocols. */
export interface QueryRoute<P> {
  readonly timeoutMs: (context: RequestContext, config: Config) => number;
  /** Whether the route works while the node starts. */
  readonly needsNoData?: boolean;
  /** Default: all but snappy. */
  readonly encodings?: QueryEncodings;
  /** Whether the body of the request has parameters; other bodies are dropped. */
  readonly hasBody: (request: IncomingMessage) => boolean;
  /** Reads the parameters from the URL and the body. @throws `invalid_arguments`, `unsupported`. */
  readonly parameters: (context: RequestContext, body: Buffer | undefined) => P;
  readonly run: (parameters: P, call: Call, context: RequestContext) => QueryReply | Promise<QueryReply>;
  /** Whether replies report the execution time in a header. */
  readonly isTimed: boolean;
  readonly failure: (context: RequestContext, error: AlmanacError) => HttpReply;
  /** Called when the request is done, successful or not. */
  readonly onDone?: (context: RequestContext) => void;
}

const QUERY_ENCODINGS: QueryEncodings = { encodings: ['gzip', 'deflate', 'br', 'zstd'] };

/** Makes the handler of a query route: body, parameters, query, reply, and all errors on the way. */
export function queryRoute<P>(route: QueryRoute<P>, deps: Omit<QueryDeps, 'querier'>): Handler {
  const handle = async (context: RequestContext): Promise<void> => {
    let release: (() => void) | undefined;
    try {
      release = deps.queryIds.reserve(context);
      const call = context.call(route.timeoutMs(context, deps.config));
      if (route.needsNoData !== true) await deps.gate.check(call);
      const parameters = await readParameters(context, route, deps, call);
      const reply = await route.run(parameters, call, context);
      await sendReply(context, route, reply, call, deps.config.http.maxResultBytes);
    } catch (thrown) {
      const error = AlmanacError.from(thrown);
      deps.log.failure(context, error);
      context.request.resume();
      // The rest of a response that has begun cannot be replaced: the client sees that it is cut off.
      if (context.response.headersSent) context.response.destroy();
      else send(context, withQueryId(context, route.failure(context, error)));
    } finally {
      release?.();
      route.onDone?.(context);
    }
  };
  return Object.assign(handle, {
    failure: (context: RequestContext, error: AlmanacError) => withQueryId(context, route.failure(context, error)),
  });
}

async function readParameters<P>(
  context: RequestContext,
  { hasBody, parameters, encodings = QUERY_ENCODINGS }: QueryRoute<P>,
  { bodies }: Pick<QueryDeps, 'bodies'>,
  call: Call,
): Promise<P> {
  const { request } = context;
  if (request.method !== 'POST' || !hasBody(request)) {
    request.resume();
    return parameters(context, undefined);
  }
  const body = await bodies.read(request, encodings, call);
  try {
    return parameters(context, body.bytes);
  } finally {
    body.release();
  }
}

async function sendReply<P>(
  context: RequestContext,
  { isTimed }: QueryRoute<P>,
  reply: QueryReply,
  call: Call,
  bytesMax: number,
): Promise<void> {
  // Called when the first byte is sent.
  const headers = (): Record<string, string> => {
    if (reply.database !== undefined) context.database = reply.database;
    const all: Record<string, string> = {};
    addHeaders(all, reply.headers);
    if (isTimed) addInBothNames(all, 'execution-time', String(context.elapsedMs));
    all[QUERY_ID] = context.requestId;
    return all;
  };
  if ('json' in reply) return send(context, jsonReply(200, reply.json, headers()));
  if ('text' in reply) return send(context, { status: 200, headers: headers(), body: reply.text });
  if ('chunks' in reply) {
    const { chunks, isPacked = false } = reply;
    return sendStream(context, call, { chunks, isPacked, headers, bytesMax });
  }
  try {
    await sendParts(context, call, { headers: headers(), parts: reply.parts });
  } finally {
    reply.release();
  }
}

function withQueryId(context: RequestContext, reply: HttpReply): HttpReply {
  return { ...reply, headers: { ...reply.headers, [QUERY_ID]: context.requestId } };
}
