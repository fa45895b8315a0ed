import type { IncomingHttpHeaders } from 'node:http';

import { AlmanacError } from '#shared/errors/almanac-error';

import type { RequestContext } from '../request-context.js';

/** Name of the header with the ID of a query, in requests and replies. */
export const QUERY_ID = 'x-almanac-query-id';

const UUID = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;

/** Returns the ID that a client chose for its query, if it is valid. */
export function chosenQueryId(headers: IncomingHttpHeaders): string | undefined {
  const id = headers[QUERY_ID];
  return typeof id === 'string' && UUID.test(id) ? id : undefined;
}

/** The IDs of queries that clients chose, while the queries run in this gateway. */
export class QueryIds {
  readonly #running = new Set<string>();

  /**
   * Reserves the ID of a request, if its client chose one.
   *
   * @returns a function that releases it. @throws `invalid_arguments`: it is no UUID, or it is in use (409).
   */
  reserve({ request: { headers } }: RequestContext): () => void {
    const text = headers[QUERY_ID];
    if (text === undefined) return nothing;
    const id = chosenQueryId(headers);
    if (id === undefined) {
      throw new AlmanacError('invalid_arguments', `${QUERY_ID} "${String(text).slice(0, 60)}" is not a UUID`);
    }
    if (this.#running.has(id)) {
      throw new AlmanacError('invalid_arguments', `query ${id} is running: choose another ${QUERY_ID}`, { http: 409 });
    }
    this.#running.add(id);
    return () => this.#running.delete(id);
  }
}

function nothing(): void {
  // The request has an ID of its own.
}
