import { requireDatabase } from '#shared/contracts/rights';

import { createDatabaseSql } from './show-create.js';
import { outputTable } from '../../run/table-output.js';
import type { StatementKind } from '../../statement.js';

/** `SHOW CREATE DATABASE n`. */
export const showCreateDatabase: StatementKind = {
  name: 'SHOW CREATE DATABASE',

  matches: (cursor) => cursor.sees('SHOW', 'CREATE', 'DATABASE') || cursor.sees('SHOW', 'CREATE', 'SCHEMA'),

  parse(cursor) {
    cursor.at += 3;
    const { name } = cursor.objectName('database name');
    cursor.expectEnd();
    return {
      isQuery: false,
      async *run(context) {
        requireDatabase(context.call, name);
        const database = await context.deps.catalog.database(name, context.call);
        const columns = [
          { name: 'Database', type: 'String' as const },
          { name: 'Create Database', type: 'String' as const },
        ];
        yield* outputTable(context, { columns, rows: [[database.name, createDatabaseSql(database)]] });
      },
    };
  },
};
