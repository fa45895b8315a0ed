import type { PromReadPart } from '#shared/contracts/gen/querier';
import { AlmanacError } from '#shared/errors/almanac-error';

import { databaseOfWrite } from '../../protocols/common/database.js';
import type { Handler } from '../../request-context.js';
import { remoteReadFailure } from '../prom-error.js';
import { promTimeoutMs } from '../prometheus.js';
import { queryRoute, type QueryDeps } from '../query-route.js';
import { readRequest, type ReadRequest } from './request.js';
import { snappyResponse, type ReadReplyBudget } from './snappy-response.js';

/** Dependencies of remote read besides those of all query routes. */
export interface RemoteReadDeps {
  /** Memory for replies that must be whole before they are sent. */
  readonly budget: ReadReplyBudget;
}

const BODY_BYTES_MAX = 32 * 1024 * 1024;
const SNAPPY_HEADERS = { 'content-type': 'application/x-protobuf', 'content-encoding': 'snappy' } as const;
const STREAMED_HEADERS = { 'content-type': 'application/x-streamed-protobuf; proto=prometheus.ChunkedReadResponse' };

/** `POST /v1/prometheus/read`: returns stored samples (docs/protocols/prometheus-remote-read.md). */
export function remoteReadHandler({ budget }: RemoteReadDeps, deps: QueryDeps): Handler {
  const { config, querier } = deps;
  const bytesMax = config.http.maxResultBytes;
  return queryRoute(
    {
      timeoutMs: promTimeoutMs,
      encodings: { encodings: ['snappy'], impliedEncoding: 'snappy' },
      hasBody: () => true,
      parameters: (_context, body) => checkedRequest(body),
      async run({ queries, format }, call, context) {
        const parts = querier.promRead({ database: databaseOfWrite(context, ['db']), queries, format }, call);
        if (format === 'chunks') return { chunks: bytesOf(parts), isPacked: true, headers: STREAMED_HEADERS };
        const response = await snappyResponse(parts, queries.length, { bytesMax, budget }, call);
        return { ...response, headers: SNAPPY_HEADERS };
      },
      isTimed: false,
      failure: remoteReadFailure,
    },
    deps,
  );
}

function checkedRequest(body: Buffer = Buffer.alloc(0)): ReadRequest {
  if (body.length <= BODY_BYTES_MAX) return readRequest(body);
  throw new AlmanacError('invalid_arguments', `request is larger than ${BODY_BYTES_MAX} bytes`);
}

async function* bytesOf(parts: AsyncIterable<PromReadPart>): AsyncIterable<Uint8Array> {
  for await (const { data } of parts) yield data;
}
