import type { Call } from '#shared/contracts/call';
import type { Table } from '#shared/contracts/gen/common';

import { atAllOwners } from '../owners.js';
import { command, type StatementDeps, type StatementKind } from './statement.js';

/** `TRUNCATE [TABLE] t`: the owners of its regions flush, then hide every row that was acknowledged before. */
export const truncate: StatementKind = {
  name: 'TRUNCATE',

  matches: (cursor) => cursor.sees('TRUNCATE'),

  parse(cursor) {
    cursor.expect('TRUNCATE');
    cursor.accept('TABLE');
    const { catalog, schema, name } = cursor.objectName('table name');
    cursor.expectEnd();
    return command(async ({ deps, session, call }) => {
      const database = deps.names.databaseOf(catalog, schema, session.database);
      const table = await deps.names.getStored(database, name, 'TRUNCATE', call);
      await truncateTable(table, deps, call);
      return 0;
    });
  },
};

/** Hides every row that was acknowledged before. */
export async function truncateTable(table: Table, deps: StatementDeps, call: Call): Promise<void> {
  const { tableId } = table;
  await atAllOwners(deps, table, call, (owner, regionIds) => owner.truncateTable({ tableId, regionIds }, call));
}
