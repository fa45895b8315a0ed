import type { AlmanacError } from '#shared/errors/almanac-error';

import { errorReply, inBothNames, jsonReply, type HttpReply } from '../../reply.js';
import type { RequestContext } from '../../request-context.js';
import type { PipelineDecoder } from '../common/pipeline/decoder.js';
import type { IngestOutcome, IngestReplies } from '../protocol.js';

/** Replies to one request. */
export class IngestPipelineReplies implements IngestReplies {
  decoder: PipelineDecoder | undefined = undefined;

  success({ written, additional }: IngestOutcome, context: RequestContext): HttpReply {
    const counts = [written.rowCount, ...additional.map((it) => it.written?.rowCount ?? 0)];
    const byOptions = new Map<string, number>();
    for (const [i, { options }] of (this.decoder?.sink.rows.groups ?? []).entries()) {
      const key = JSON.stringify([...options]);
      byOptions.set(key, (byOptions.get(key) ?? 0) + counts[i]);
    }
    const output = [...byOptions.values()].flatMap((rows) => (rows === 0 ? [] : [{ affectedrows: rows }]));
    const headers = inBothNames('execution-time', String(context.elapsedMs));
    const run = this.decoder?.sink.run;
    const failed = run?.onError === 'store' ? { failed: run.stored } : {};
    const skipped = run !== undefined && run.skipped > 0 ? { skipped: run.skipped } : {};
    return jsonReply(200, { output, ...failed, ...skipped, execution_time_ms: context.elapsedMs }, headers);
  }

  rejected(_rejected: unknown, context: RequestContext): HttpReply {
    return jsonReply(400, { error: 'no row was stored', execution_time_ms: context.elapsedMs });
  }

  failure(error: AlmanacError, context: RequestContext): HttpReply {
    return errorReply(context, error, error.httpStatus, placeOf(error));
  }
}

/** Returns the item and the step at which a pipeline failed. */
export function placeOf({ details }: AlmanacError): Readonly<Record<string, unknown>> {
  return details['step'] === undefined ? {} : { item: Number(details['item']), step: details['step'] };
}
