import type { Clock } from '#shared/clock/clock';
import { ownCall } from '#shared/contracts/call';
import type { Table } from '#shared/contracts/gen/common';
import type { Catalog } from '#shared/discovery/catalog';
import { AlmanacError } from '#shared/errors/almanac-error';

import { withDeadline } from '../run/deadline.js';
import type { KnownTables } from '../snapshot/table-rows.js';

/** Collaborators of `latestSchema`. */
export interface LatestSchemaDeps {
  readonly catalog: Pick<Catalog, 'renew'> & KnownTables;
  readonly clock: Clock;
}

/** Time limit of the call in milliseconds: all readers of the table wait for it. */
const ANSWER_MS_MAX = 3_000;

/**
 * Fetches the current schema of a table from the metadata service.
 *
 * @throws `table_not_found` when the table was dropped; `region_not_ready` when the service does not respond in time
 */
export async function latestSchema(tableId: number, { catalog, clock }: LatestSchemaDeps): Promise<Table> {
  const timed = withDeadline(ownCall(`latest-schema-${tableId}`), clock, ANSWER_MS_MAX);
  try {
    await catalog.renew(tableId, timed.call);
  } catch (error) {
    const failure = AlmanacError.from(error);
    if (failure.code !== 'deadline_exceeded') throw error;
    const text = `table ${tableId} has new tags, and the metadata service did not respond in time`;
    throw new AlmanacError('region_not_ready', text, { cause: failure, retryAfterSeconds: 1 });
  } finally {
    timed.close();
  }
  const table = catalog.knownById(tableId);
  if (table === undefined) throw new AlmanacError('table_not_found', `table ${tableId} was dropped`);
  return table;
}
