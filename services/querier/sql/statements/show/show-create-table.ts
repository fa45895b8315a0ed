import { createTableSql } from './show-create.js';
import { outputTable } from '../../run/table-output.js';
import type { StatementKind } from '../../statement.js';

/** `SHOW CREATE TABLE t`. */
export const showCreateTable: StatementKind = {
  name: 'SHOW CREATE TABLE',

  matches: (cursor) => cursor.sees('SHOW', 'CREATE', 'TABLE'),

  parse(cursor) {
    cursor.expect('SHOW', 'CREATE', 'TABLE');
    const { catalog, schema, name } = cursor.objectName('table name');
    cursor.expectEnd();
    return {
      isQuery: false,
      async *run(context) {
        const { deps, session, call } = context;
        const table = await deps.names.get(deps.names.databaseOf(catalog, schema, session.database), name, call);
        const columns = [
          { name: 'Table', type: 'String' as const },
          { name: 'Create Table', type: 'String' as const },
        ];
        yield* outputTable(context, { columns, rows: [[table.name, createTableSql(table)]] });
      },
    };
  },
};
