import type { Call } from '#shared/contracts/call';
import type { Table } from '#shared/contracts/gen/common';

import { atAllOwners } from '../../run/owners.js';
import type { StatementDeps } from '../../statement.js';

/** Hides every row that was acknowledged before. */
export async function truncateAtOwners(table: Table, deps: StatementDeps, call: Call): Promise<void> {
  const { tableId } = table;
  await atAllOwners(deps, table, call, (owner, regionIds) => owner.truncateTable({ tableId, regionIds }, call));
}
