import { joinUtf8 } from '#shared/bytes/utf8';
import type { SqlEvent } from '#shared/contracts/gen/querier';
import { AlmanacError } from '#shared/errors/almanac-error';
import type { ResultFormat } from '#shared/formats/format';

import { addInBothNames } from '../reply.js';
import type { RequestContext } from '../request-context.js';
import type { QueryReply } from './query-route.js';
import { HELD_BYTES_MAX, tooLarge } from './stream-reply.js';

/** What the reply to a query is made for. */
interface ResultRequest {
  readonly database: string;
  readonly context: RequestContext;
  /** Limit of `http.max_result_bytes`. */
  readonly bytesMax: number;
}

/**
 * Makes the reply for the results of a query, whose rows are in the format already.
 *
 * @param results their events, or the only event of a known result
 * @throws `invalid_arguments` if a known result is too large
 */
export function resultReply(
  results: SqlEvent | AsyncIterable<SqlEvent>,
  format: ResultFormat,
  request: ResultRequest,
): QueryReply {
  const { database, context } = request;
  const headers = headersOf(format);
  if ('kind' in results && format.whole === undefined && results.text.length <= HELD_BYTES_MAX) {
    return { text: knownBody(results, format, request), headers, database };
  }
  const events = 'kind' in results ? only(results) : results;
  const joined = format.whole === undefined ? events : wholeResults(events, format);
  return { chunks: resultBody(joined, format, () => context.elapsedMs), headers, database };
}

async function* only(event: SqlEvent): AsyncIterable<SqlEvent> {
  yield await Promise.resolve(event);
}

/** Returns the body of the reply for a result, without waiting for anything. */
function knownBody(
  { schema, text, rows }: SqlEvent,
  format: ResultFormat,
  { context, bytesMax }: ResultRequest,
): Uint8Array {
  const tail = format.tail(rows);
  const end = format.end(1, context.elapsedMs);
  const after = typeof tail === 'string' ? tail + end : Buffer.concat([tail, Buffer.from(end)]);
  const body = joinUtf8(format.head(schema, 0), text, after);
  if (body.length > bytesMax) throw tooLarge(bytesMax);
  return body;
}

function headersOf({ contentType, names }: ResultFormat): Record<string, string> {
  return addInBothNames({ 'content-type': contentType }, 'format', names[0].split(':')[0]);
}

/** Rows that are held for a format whose look depends on all of them: it is for people. */
const WHOLE_BYTES_MAX = 32 * 1024 * 1024;

/** Replaces each result by one event with its whole text. @throws `invalid_arguments` for a large result. */
async function* wholeResults(events: AsyncIterable<SqlEvent>, format: ResultFormat): AsyncIterable<SqlEvent> {
  let schema: SqlEvent['schema'] = [];
  let texts: Uint8Array[] = [];
  let bytes = 0;
  for await (const event of events) {
    if (event.kind === 'affected') yield event;
    if (event.schema.length > 0) ({ schema } = event);
    if (event.text.length > 0) {
      if (texts.length > 0) texts.push(Buffer.from(format.separator));
      texts.push(event.text);
      bytes += event.text.length;
    }
    if (bytes > WHOLE_BYTES_MAX) {
      const text = `the format ${format.names[0]} holds up to ${WHOLE_BYTES_MAX} bytes: add LIMIT, or use another format`;
      throw new AlmanacError('invalid_arguments', text);
    }
    if (event.kind !== 'result' && event.kind !== 'end') continue;
    const rows = Buffer.concat(texts).toString();
    yield { ...event, kind: 'result', schema, text: Buffer.from(format.whole?.(schema, rows) ?? rows) };
    texts = [];
    bytes = 0;
  }
}

/** Joins the rows of results to the body of a reply. @param elapsedMs called at the end. */
async function* resultBody(
  events: AsyncIterable<SqlEvent>,
  format: ResultFormat,
  elapsedMs: () => number,
): AsyncGenerator<Uint8Array, void, undefined> {
  const separator = Buffer.from(format.separator);
  let resultCount = 0;
  let isFirstBlock = true;
  for await (const event of events) {
    const { kind, schema, text, rows, affectedRows } = event;
    switch (kind) {
      case 'result':
        yield joinUtf8(format.head(schema, resultCount++), text, format.tail(rows));
        break;
      case 'schema':
        yield Buffer.from(format.head(schema, resultCount++));
        isFirstBlock = true;
        break;
      case 'text':
        if (text.length === 0) continue;
        if (!isFirstBlock) yield separator;
        isFirstBlock = false;
        yield text;
        break;
      case 'end':
        yield Buffer.from(format.tail(rows));
        break;
      case 'affected':
        yield Buffer.from(format.affected(affectedRows, resultCount++));
        break;
      default:
        throw new AlmanacError('unexpected', `unknown event "${kind}" of the querier: it may be of another release`);
    }
  }
  yield Buffer.from(format.end(resultCount, elapsedMs()));
}
