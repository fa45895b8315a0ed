import type { AlmanacError } from '#shared/errors/almanac-error';

import { errorHeaders, jsonReply, type HttpReply } from '../../reply.js';
import type { GatewayState, IngestOutcome, IngestReplies } from '../protocol.js';
import type { RequestContext } from '../../request-context.js';
import { codeOf, statusOfCode, textOfCode, type SplunkCode } from './codes.js';

/** Replies to writes. */
export class SplunkReplies implements IngestReplies {
  readonly #extra: () => Readonly<Record<string, unknown>>;

  /** @param extra makes further members of the reply to a write that succeeded. */
  constructor(extra: () => Readonly<Record<string, unknown>> = () => ({})) {
    this.#extra = extra;
  }

  success({ written }: IngestOutcome): HttpReply {
    const [rejected] = written.rejected;
    return rejected === undefined ? codeReply(0, this.#extra()) : codeReply(6, { reason: rejected.reason });
  }

  rejected(): HttpReply {
    return codeReply(6);
  }

  failure(error: AlmanacError): HttpReply {
    const { code, event } = codeOf(error);
    const reason = error.publicMessage === textOfCode(code) ? {} : { reason: error.publicMessage };
    const number = event === undefined ? {} : { 'invalid-event-number': event };
    // Too large bodies have their own status.
    const status = error.httpStatus === 413 ? 413 : statusOfCode(code);
    return codeReply(code, { ...number, ...reason }, status, errorHeaders(error, status));
  }
}

/** `GET /services/collector/health`. */
export function splunkHealth(_context: RequestContext, { writeObstacle }: GatewayState): HttpReply {
  return codeReply(writeObstacle === undefined ? 17 : 18);
}

function codeReply(
  code: SplunkCode,
  extra: Readonly<Record<string, unknown>> = {},
  status = statusOfCode(code),
  headers: HttpReply['headers'] = {},
): HttpReply {
  return jsonReply(status, { text: textOfCode(code), code, ...extra }, headers);
}
