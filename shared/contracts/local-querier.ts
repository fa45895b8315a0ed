import type { Call } from './call.js';
import type { QuerierService, SqlEvent, SqlRequest } from './gen/querier.js';

/** A querier that may be in this process. */
export interface LocalQuerier extends QuerierService {
  /**
   * Runs statements as `sql` does, unless they are one query whose small result is known: then returns its only event.
   * Undefined: the querier is in another process.
   */
  sqlNow?(request: SqlRequest, call: Call): SqlEvent | AsyncIterable<SqlEvent>;
}
