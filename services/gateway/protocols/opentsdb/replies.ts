import type { AlmanacError } from '#shared/errors/almanac-error';

import { errorHeaders, jsonReply, type HttpReply } from '../../reply.js';
import { stringifyJson, type JsonValue } from '../common/json.js';
import type { IngestOutcome, IngestReplies } from '../protocol.js';
import type { OpentsdbDecoder, RejectedPoint } from './decode.js';

/** How much a reply says about the points. */
export type Detail = 'none' | 'summary' | 'details';

const POINT_ERRORS = 'One or more data points had errors';
const POINT_ERRORS_DETAILS = 'Please see the TSD logs or append "details" to the put request';

/** Replies to one request. */
export class OpentsdbReplies implements IngestReplies {
  decoder: OpentsdbDecoder | undefined = undefined;
  readonly #detail: Detail;

  constructor(detail: Detail) {
    this.#detail = detail;
  }

  success({ rejected, written }: IngestOutcome): HttpReply {
    const conflicts = written.rejected.map(({ table, reason }): RejectedPoint => {
      return { datapoint: { metric: table }, error: reason };
    });
    const conflictCount = written.rejected.reduce((sum, { rowCount }) => sum + rowCount, 0);
    const failed = rejected.malformedCount + conflictCount;
    if (this.#detail === 'none') {
      return failed === 0 ? { status: 204 } : errorObject(400, POINT_ERRORS, POINT_ERRORS_DETAILS);
    }
    const summary = { success: (this.decoder?.pointCount ?? 0) - failed, failed };
    const errors = [...(this.decoder?.shown ?? []), ...conflicts].map((point): JsonValue => ({ ...point }));
    const body = this.#detail === 'summary' ? summary : { ...summary, errors };
    return {
      status: failed === 0 ? 200 : 400,
      headers: { 'content-type': 'application/json' },
      body: stringifyJson(body),
    };
  }

  rejected(): HttpReply {
    return errorObject(400, POINT_ERRORS, POINT_ERRORS_DETAILS);
  }

  failure(error: AlmanacError): HttpReply {
    const status = error.retry && error.httpStatus < 500 ? 503 : error.httpStatus;
    return errorObject(status, error.publicMessage, '', errorHeaders(error, status));
  }
}

function errorObject(status: number, message: string, details: string, headers?: HttpReply['headers']): HttpReply {
  return jsonReply(status, { error: { code: status, message, details } }, headers);
}
