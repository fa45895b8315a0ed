import type { AlmanacError } from '#shared/errors/almanac-error';

import { errorHeaders, visibleAscii, type Answer } from '../../answer.js';
import type { IngestOutcome, IngestReply } from '../protocol.js';

/** Most of a message is lines of the client; it has seen them. */
const BODY_CHARACTERS_MAX = 8 * 1024;
const DONE: Answer = { status: 204 };

/** Words for native types. */
const TYPE_WORDS: Readonly<Record<string, string>> = {
  Int64: 'integer',
  UInt64: 'unsigned',
  Float64: 'float',
  String: 'string',
  Boolean: 'boolean',
};

interface Conflicts {
  /** One line for each column. */
  readonly texts: readonly string[];
  readonly rowCount: number;
}

/** Answers of `/write`: `{"error":".."}`. */
export const replyV1: IngestReply = {
  success({ rejected, written }) {
    const conflicts = conflictsOf({ rejected, written });
    if (rejected.lineCount === 0 && conflicts.rowCount === 0) return DONE;
    if (written.rowCount === 0 && conflicts.rowCount === 0) return errorV1(400, rejected.texts.join('\n'));
    const texts = [...rejected.texts, ...conflicts.texts].join('\n');
    return errorV1(400, `partial write: ${cut(texts)} dropped=${conflicts.rowCount}`);
  },

  rejected: (rejected) => errorV1(400, rejected.texts.join('\n')),

  failure(error) {
    const { status, message } = inProtocolWords(error, 'v1');
    return errorV1(status, message, error);
  },
};

/** Answers of `/api/v2/write`: `{"code":"..","message":"..","error":".."}`. */
export const replyV2: IngestReply = {
  success(outcome) {
    const conflicts = conflictsOf(outcome);
    if (conflicts.rowCount === 0) return DONE;
    const texts = `partial write: ${cut(conflicts.texts.join('\n'))} dropped=${conflicts.rowCount}`;
    return errorV2(422, 'unprocessable entity', `failure writing points to database: ${texts}`);
  },

  rejected: (rejected) => errorV2(400, 'invalid', rejected.texts.join('\n')),

  failure(error) {
    const { status, message } = inProtocolWords(error, 'v2');
    return errorV2(status, CODE_WORDS[status] ?? 'internal error', message, error);
  },
};

/** Words of the second version for statuses. */
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

function conflictsOf({ rejected, written }: Pick<IngestOutcome, 'rejected' | 'written'>): Conflicts {
  const texts: string[] = [];
  let rowCount = 0;
  const add = (text: string, rows: number): void => {
    texts.push(text);
    rowCount += rows;
  };
  for (const { table, field, given, existing, rowCount: rows } of rejected.conflicts) {
    add(conflictText(table, field, given, existing), rows);
  }
  for (const { table, column, given, existing, rowCount: rows } of written.conflicts) {
    add(conflictText(table, column, given, existing), rows);
  }
  for (const { reason, rowCount: rows } of written.refused) add(reason, rows);
  return { texts: [...new Set(texts)], rowCount };
}

function conflictText(table: string, column: string, given: string, existing: string): string {
  if (existing === 'tag') return `input field "${column}" on measurement "${table}" is already a tag`;
  if (given === 'tag') return `input tag "${column}" on measurement "${table}" is already a field`;
  const types = `is type ${wordOf(given)}, already exists as type ${wordOf(existing)}`;
  return `field type conflict: input field "${column}" on measurement "${table}" ${types}`;
}

function wordOf(type: string): string {
  return TYPE_WORDS[type] ?? type;
}

/** What the protocol's own server says in this case, as far as it has such a case. */
function inProtocolWords(error: AlmanacError, version: 'v1' | 'v2'): { status: number; message: string } {
  const message = error.publicMessage;
  if (error.code === 'database_not_found') {
    const name = error.details['database'] ?? message.replace(/^Database not found: /, '');
    const text = version === 'v1' ? `database not found: "${name}"` : `bucket "${name}" not found`;
    return { status: 404, message: text };
  }
  const status = error.code === 'deadline_exceeded' ? 408 : error.httpStatus;
  if (version === 'v1' && status === 413) return { status, message: 'Request Entity Too Large' };
  if (version === 'v1' && (status === 503 || status === 408)) return { status, message: timeoutText(error) };
  return { status, message };
}

/** Reasons of a 503 that are no overload: an operator has to know them. */
const NAMED_REASONS: ReadonlySet<string> = new Set(['region_not_ready', 'storage_unavailable']);

/** Too much work is `timeout` in the first version and no more; who is not there, and a full disk, are named after it. */
function timeoutText({ code, details, publicMessage }: AlmanacError): string {
  return NAMED_REASONS.has(code) || details['peer'] !== undefined ? `timeout: ${publicMessage}` : 'timeout';
}

function errorV1(status: number, message: string, error?: AlmanacError): Answer {
  const text = cut(message);
  const headers = {
    'content-type': 'application/json',
    'x-influxdb-error': visibleAscii(text),
    ...headersOf(error),
  };
  return { status, headers, body: `${JSON.stringify({ error: text })}\n` };
}

function errorV2(status: number, code: string, message: string, error?: AlmanacError): Answer {
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
