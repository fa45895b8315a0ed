import type { SqlEvent } from '#shared/contracts/gen/querier';
import { AlmanacError } from '#shared/errors/almanac-error';
import type { ResultFormat } from '#shared/formats/format';

import { inBothNames } from '../reply.js';
import type { RequestContext } from '../request-context.js';
import type { QueryReply } from './query-route.js';

/** Makes the reply for the results of a query, whose rows are in the format already. */
export function resultReply(
  events: AsyncIterable<SqlEvent>,
  format: ResultFormat,
  { database, context }: { readonly database: string; readonly context: RequestContext },
): QueryReply {
  const headers = { 'content-type': format.contentType, ...inBothNames('format', format.names[0]) };
  return { chunks: resultBody(events, format, () => context.elapsedMs), headers, database };
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
        yield Buffer.from(format.head(schema, resultCount++));
        if (text.length > 0) yield text;
        yield Buffer.from(format.tail(rows));
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
