import type { AlmanacError } from '#shared/errors/almanac-error';
import type { RejectedRow } from '#shared/write/writer-types';

import { errorHeaders, visibleAscii, type HttpReply } from '../../reply.js';
import type { IngestOutcome, IngestReplies } from '../protocol.js';

/** Longest message: most of it are lines that the client has sent. */
const BODY_CHARACTERS_MAX = 8 * 1024;
const DONE: HttpReply = { status: 204 };

/** Words of the protocol for native types. */
const TYPE_WORDS: Readonly<Record<string, string>> = {
  Int64: 'integer',
  UInt64: 'unsigned',
  Float64: 'float',
  String: 'string',
  Boolean: 'boolean',
};

interface DroppedRows {
  /** One text for each column. */
  readonly texts: readonly string[];
  readonly rowCount: number;
}

/** Replies of `/write`: `{"error":".."}`. */
export const repliesV1: IngestReplies = {
  success({ rejected, written }) {
    const dropped = droppedRows({ rejected, written });
    if (rejected.malformedCount === 0 && dropped.rowCount === 0) return DONE;
    if (written.rowCount === 0 && dropped.rowCount === 0) return errorV1(400, rejected.texts.join('\n'));
    const texts = [...rejected.texts, ...dropped.texts].join('\n');
    return errorV1(400, `partial write: ${cut(texts)} dropped=${dropped.rowCount}`);
  },

  rejected: (rejected) => errorV1(400, rejected.texts.join('\n')),

  failure(error) {
    const { status, message } = inProtocolWords(error, 'v1');
    return errorV1(status, message, error);
  },
};

/** Replies of `/api/v2/write`: `{"code":"..","message":"..","error":".."}`. */
export const repliesV2: IngestReplies = {
  success(outcome) {
    const dropped = droppedRows(outcome);
    if (dropped.rowCount === 0) return DONE;
    const texts = `partial write: ${cut(dropped.texts.join('\n'))} dropped=${dropped.rowCount}`;
    return errorV2(422, 'unprocessable entity', `failure writing points to database: ${texts}`);
  },

  rejected: (rejected) => errorV2(400, 'invalid', rejected.texts.join('\n')),

  failure(error) {
    const { status, message } = inProtocolWords(error, 'v2');
    return errorV2(status, CODE_WORDS[status] ?? 'internal error', message, error);
  },
};

/** Error codes of the second version. */
const CODE_WORDS: Readonly<Record<number, string>> = {
  400: 'invalid',
  401: 'unauthorized',
  403: 'forbidden',
  404: 'not found',
  408: 'unavailable',
  413: 'request too large',
  415: 'invalid',
  422: 'unprocessable entity',
  429: 'too many requests',
  503: 'unavailable',
};

/** Collects well-formed rows that were not written, in the decoder or in the writer. */
function droppedRows({ rejected, written }: Pick<IngestOutcome, 'rejected' | 'written'>): DroppedRows {
  const rows = [...rejected.conflicts, ...written.rejected];
  const rowCount = rows.reduce((sum, row) => sum + row.rowCount, 0);
  return { texts: [...new Set(rows.map(droppedText))], rowCount };
}

function droppedText({ table, reason, conflict }: RejectedRow): string {
  if (conflict === undefined) return reason;
  const { column, given, existing } = conflict;
  if (existing === 'tag') return `input field "${column}" on measurement "${table}" is already a tag`;
  if (given === 'tag') return `input tag "${column}" on measurement "${table}" is already a field`;
  const types = `is type ${wordOf(given)}, already exists as type ${wordOf(existing)}`;
  return `field type conflict: input field "${column}" on measurement "${table}" ${types}`;
}

function wordOf(type: string): string {
  return TYPE_WORDS[type] ?? type;
}

/** Returns the status and message of InfluxDB for the error, as far as it has such an error. */
function inProtocolWords(error: AlmanacError, version: 'v1' | 'v2'): { status: number; message: string } {
  const message = error.publicMessage;
  if (error.code === 'database_not_found') {
    const name = error.details['database'] ?? message.replace(/^Database not found: /, '');
    const text = version === 'v1' ? `database not found: "${name}"` : `bucket "${name}" not found`;
    return { status: 404, message: text };
  }
  const status = error.code === 'deadline_exceeded' ? 408 : error.httpStatus;
  if (status === 401) return { status, message: unauthorizedText(error, version) };
  if (version === 'v1' && status === 413 && message.startsWith('body ')) {
    return { status, message: 'Request Entity Too Large' };
  }
  if (version === 'v1' && (status === 503 || status === 408)) return { status, message: timeoutText(error) };
  return { status, message };
}

function unauthorizedText({ code }: AlmanacError, version: 'v1' | 'v2'): string {
  if (version === 'v2') return 'unauthorized access';
  const isChecked = code === 'user_password_mismatch' || code === 'user_not_found';
  return isChecked ? 'authorization failed' : 'unable to parse authentication credentials';
}

/** Errors with status 503 that are no overload: the operator must see their message. */
const NAMED_REASONS: ReadonlySet<string> = new Set(['region_not_ready', 'storage_unavailable']);

/** Returns `timeout`, the word of the first version for overload, and the message if there is another reason. */
function timeoutText({ code, details, publicMessage }: AlmanacError): string {
  return NAMED_REASONS.has(code) || details['peer'] !== undefined ? `timeout: ${publicMessage}` : 'timeout';
}

function errorV1(status: number, message: string, error?: AlmanacError): HttpReply {
  const text = cut(message);
  const headers = {
    'content-type': 'application/json',
    'x-influxdb-error': visibleAscii(text),
    ...headersOf(error),
  };
  return { status, headers, body: `${JSON.stringify({ error: text })}\n` };
}

function errorV2(status: number, code: string, message: string, error?: AlmanacError): HttpReply {
  const text = cut(message);
  const headers = { 'content-type': 'application/json', 'x-platform-error-code': code, ...headersOf(error) };
  return { status, headers, body: `${JSON.stringify({ code, message: text, error: text })}\n` };
}

function headersOf(error: AlmanacError | undefined): Readonly<Record<string, string>> {
  return error === undefined ? {} : errorHeaders(error);
}

function cut(text: string): string {
  return text.length <= BODY_CHARACTERS_MAX ? text : `${text.slice(0, BODY_CHARACTERS_MAX)}..`;
}
