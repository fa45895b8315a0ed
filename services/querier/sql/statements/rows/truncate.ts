import { truncateAtOwners } from './truncate-table.js';
import { command, type StatementKind } from '../../statement.js';

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
      await truncateAtOwners(table, deps, call);
      return 0;
    });
  },
};
