import type { AlmanacError } from '#shared/errors/almanac-error';

import { errorHeaders, textReply, type HttpReply } from '../../reply.js';
import type { RequestContext } from '../../request-context.js';
import type { GatewayState, IngestReplies } from '../protocol.js';

/** Agents send again after 429 and 5xx, and drop the batch after any other error. */
export const lokiReplies: IngestReplies = {
  success({ written }) {
    if (written.rejected.length === 0) return { status: 204 };
    return textReply(
      400,
      `${written.rejected.map(({ reason, rowCount }) => `${rowCount} entries: ${reason}`).join('\n')}\n`,
    );
  },
  rejected: ({ texts }) => textReply(400, `${texts.join('\n')}\n`),
  failure: (error) => failureReply(error),
};

/** `GET /ready`: Vector checks it before it writes. */
export function readyReply(_context: RequestContext, { writeObstacle }: GatewayState): HttpReply {
  return writeObstacle === undefined ? textReply(200, 'ready\n') : textReply(503, `not ready: ${writeObstacle}\n`);
}

function failureReply(error: AlmanacError): HttpReply {
  const status = error.retry && error.httpStatus < 500 && error.httpStatus !== 429 ? 503 : error.httpStatus;
  return textReply(status, `${error.publicMessage}\n`, errorHeaders(error, status));
}
