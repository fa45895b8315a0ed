import { AlmanacError } from '#shared/errors/almanac-error';

import { isSystemTable } from '../../system-tables/system-table.js';
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
        if (isSystemTable(table)) {
          const fullName = deps.names.fullName(table.database, table.name);
          const text = `Show create table only for base table. ${fullName} is TEMPORARY`;
          throw new AlmanacError('unsupported', text);
        }
        const columns = [
          { name: 'Table', type: 'String' as const },
          { name: 'Create Table', type: 'String' as const },
        ];
        yield* outputTable(context, { columns, rows: [[table.name, createTableSql(table)]] });
      },
    };
  },
};
