import type { AlmanacError } from '#shared/errors/almanac-error';
import { WireWriter } from '#shared/protobuf/wire-writer';

import { errorHeaders, jsonReply, type HttpReply } from '../../reply.js';
import type { RequestContext } from '../../request-context.js';
import type { IngestOutcome, IngestReplies } from '../protocol.js';
import { isJsonRequest } from './body-form.js';

const MESSAGE_CHARACTERS_MAX = 4 * 1024;
const NOTHING = Buffer.alloc(0);
const PROTOBUF = { 'content-type': 'application/x-protobuf' };

/** Codes of `google.rpc.Status` by HTTP status. */
const STATUS_CODES: Readonly<Record<number, number>> = {
  400: 3,
  401: 16,
  403: 7,
  404: 5,
  408: 4,
  413: 8,
  415: 3,
  429: 8,
  503: 14,
  504: 4,
};
const INVALID_ARGUMENT = 3;
const INTERNAL = 13;

/** Tags of the fields of a response and of `google.rpc.Status`. */
const PARTIAL_SUCCESS_TAG = 0x0a;
const REJECTED_TAG = 0x08;
const ERROR_MESSAGE_TAG = 0x12;
const CODE_TAG = 0x08;
const MESSAGE_TAG = 0x12;

/** Replies of one signal. @param rejectedName JSON name of the number of rejected items. */
export function otlpReplies(
  rejectedName: 'rejectedDataPoints' | 'rejectedSpans' | 'rejectedLogRecords',
): IngestReplies {
  return {
    success(outcome, context) {
      const { count, message } = rejectionOf(outcome);
      if (message !== '' && outcome.written.rowCount === 0) return statusReply(context, 400, message);
      if (isJsonRequest(context)) {
        const partial = { partialSuccess: { [rejectedName]: String(count), errorMessage: message } };
        return jsonReply(200, message === '' ? {} : partial);
      }
      return { status: 200, headers: PROTOBUF, body: message === '' ? NOTHING : partialSuccess(count, message) };
    },
    rejected: ({ texts }, context) => statusReply(context, 400, texts.join('\n')),
    failure(error, context) {
      const status = statusOf(error);
      return statusReply(context, status, error.publicMessage, errorHeaders(error, status));
    },
  };
}

/** Clients send again only after 429, 502, 503 and 504. */
function statusOf({ httpStatus, retry }: AlmanacError): number {
  return retry && httpStatus < 500 && httpStatus !== 429 ? 503 : httpStatus;
}

function rejectionOf({ rejected, written, additional }: IngestOutcome): { count: number; message: string } {
  const texts = [...rejected.texts];
  let count = rejected.malformedCount;
  const results = [written, ...additional.flatMap((it) => (it.isOptional ? [] : (it.written ?? [])))];
  for (const { table, reason, rowCount } of [...rejected.conflicts, ...results.flatMap((it) => it.rejected)]) {
    texts.push(`${rowCount} rows of table "${table}": ${reason}`);
    count += rowCount;
  }
  for (const { isOptional, failure, rowCount } of additional) {
    if (isOptional || failure === undefined) continue;
    texts.push(failure.publicMessage);
    count += rowCount;
  }
  return { count, message: cut(texts.join('; ')) };
}

function partialSuccess(count: number, message: string): Buffer {
  const out = new WireWriter();
  out.message(PARTIAL_SUCCESS_TAG, () => {
    out.byte(REJECTED_TAG);
    out.varint(count);
    out.text(ERROR_MESSAGE_TAG, message);
  });
  return out.take();
}

function statusReply(
  context: RequestContext,
  status: number,
  text: string,
  headers: HttpReply['headers'] = {},
): HttpReply {
  const code = STATUS_CODES[status] ?? (status >= 500 ? INTERNAL : INVALID_ARGUMENT);
  const message = cut(text);
  if (isJsonRequest(context)) return jsonReply(status, { code, message }, headers);
  const out = new WireWriter();
  out.byte(CODE_TAG);
  out.varint(code);
  out.text(MESSAGE_TAG, message);
  return { status, headers: { ...PROTOBUF, ...headers }, body: out.take() };
}

function cut(text: string): string {
  return text.length <= MESSAGE_CHARACTERS_MAX ? text : `${text.slice(0, MESSAGE_CHARACTERS_MAX)}..`;
}
