import type { Call } from './call.js';
import type { QuerierService, SqlEvent, SqlRequest } from './gen/querier.js';

/** A querier of this process. */
export interface LocalQuerier extends QuerierService {
  /** Returns the only event of a small result that is known; runs all other statements as `sql` does. */
  sqlNow(request: SqlRequest, call: Call): SqlEvent | AsyncIterable<SqlEvent>;
}

/** A querier of this process or of another one. */
export type AnyQuerier = QuerierService & Partial<Pick<LocalQuerier, 'sqlNow'>>;
