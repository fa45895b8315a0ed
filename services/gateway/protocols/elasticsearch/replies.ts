import type { AlmanacError } from '#shared/errors/almanac-error';

import { errorHeaders, jsonReply, type HttpReply } from '../../reply.js';
import type { RequestContext } from '../../request-context.js';
import type { GatewayState, IngestOutcome, IngestReplies } from '../protocol.js';
import type { BulkDecoder } from './decode.js';

/** Version of Elasticsearch that clients see. */
const VERSION = '8.16.0';
const COMPATIBLE = /application\/vnd\.elasticsearch\+json;\s*compatible-with=[789]/;
const ERROR_TYPES: Readonly<Record<number, string>> = {
  413: 'content_too_long_exception',
  415: 'media_type_header_exception',
  429: 'es_rejected_execution_exception',
  503: 'es_rejected_execution_exception',
};

/** Replies to one bulk request. */
export class BulkReplies implements IngestReplies {
  decoder: BulkDecoder | undefined = undefined;

  success({ written }: IngestOutcome, context: RequestContext): HttpReply {
    const lost = new Map(written.rejected.map(({ table, reason, rowCount }) => [table, { reason, rowCount }]));
    const items = (this.decoder?.items ?? []).map(({ action, index, error }) => {
      const rejected = lost.get(index);
      const isLost = error === undefined && rejected !== undefined && rejected.rowCount-- > 0;
      const reason = isLost ? rejected.reason : error;
      const failure = { type: 'illegal_argument_exception', reason };
      return {
        [action]: { _index: index, ...(reason === undefined ? { status: 201 } : { status: 400, error: failure }) },
      };
    });
    const errors = (this.decoder?.rejected.malformedCount ?? 0) > 0 || lost.size > 0;
    return elasticReply(context, 200, { took: context.elapsedMs, errors, items });
  }

  rejected(_rejected: unknown, context: RequestContext): HttpReply {
    return errorReply(context, 400, 'no document was stored');
  }

  failure(error: AlmanacError, context: RequestContext): HttpReply {
    const status = error.retry && error.httpStatus < 500 && error.httpStatus !== 429 ? 503 : error.httpStatus;
    return errorReply(context, status, error.publicMessage, errorHeaders(error, status));
  }
}

/** `GET /`: clients check the version. */
export function versionReply(context: RequestContext): HttpReply {
  const version = { number: VERSION, build_flavor: 'default', minimum_wire_compatibility_version: '7.17.0' };
  return elasticReply(context, 200, {
    name: 'almanac',
    cluster_name: 'almanac',
    version,
    tagline: 'You Know, for Search',
  });
}

/** `GET /_license`. */
export function licenseReply(context: RequestContext): HttpReply {
  const uid = '00000000-0000-0000-0000-000000000000';
  const license = { uid, type: 'oss', status: 'active', expiry_date_in_millis: 4_891_198_687_000 };
  return elasticReply(context, 200, { license });
}

/** `GET /_cluster/health`: red while writes are not possible. */
export function clusterHealthReply(context: RequestContext, { writeObstacle }: GatewayState): HttpReply {
  const status = writeObstacle === undefined ? 'green' : 'red';
  const nodes = { number_of_nodes: 1, number_of_data_nodes: 1 };
  return elasticReply(context, 200, { cluster_name: 'almanac', status, timed_out: false, ...nodes });
}

/** Replies to requests for what Almanac has no use for, such as templates. */
export function emptyReply(context: RequestContext): HttpReply {
  return elasticReply(context, 200, {});
}

function errorReply(
  context: RequestContext,
  status: number,
  reason: string,
  headers?: HttpReply['headers'],
): HttpReply {
  const cause = { type: ERROR_TYPES[status] ?? (status >= 500 ? 'exception' : 'illegal_argument_exception'), reason };
  return elasticReply(context, status, { error: { root_cause: [cause], ...cause }, status }, headers);
}

/** Clients refuse replies without the header that names the product. */
function elasticReply(
  { request }: RequestContext,
  status: number,
  body: unknown,
  headers: HttpReply['headers'] = {},
): HttpReply {
  const type = COMPATIBLE.exec(request.headers.accept ?? '')?.[0] ?? 'application/json';
  return jsonReply(status, body, { 'x-elastic-product': 'Elasticsearch', 'content-type': type, ...headers });
}
