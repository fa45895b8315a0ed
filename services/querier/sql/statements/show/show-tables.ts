import { outputTable, parseFilter } from '../../run/table-output.js';
import type { StatementKind } from '../../statement.js';

/** `SHOW [FULL] TABLES [FROM|IN db]`: stored tables, metrics, and views. */
export const showTables: StatementKind = {
  name: 'SHOW TABLES',

  matches: (cursor) => cursor.sees('SHOW', 'TABLES') || cursor.sees('SHOW', 'FULL', 'TABLES'),

  parse(cursor) {
    cursor.expect('SHOW');
    const isFull = cursor.accept('FULL');
    cursor.expect('TABLES');
    const given = cursor.accept('FROM') || cursor.accept('IN') ? cursor.name('database name') : undefined;
    const filter = parseFilter(cursor);
    return {
      isQuery: false,
      async *run(context) {
        const database = given ?? context.session.database;
        const { deps, call } = context;
        const tables = await deps.names.all(database, call);
        const rows = [
          ...tables.map((name) => [name, 'BASE TABLE']),
          ...deps.names.viewsOf(database, call).map(({ name }) => [name, 'VIEW']),
        ].sort(([a], [b]) => (a < b ? -1 : 1));
        const columns = [
          { name: `Tables_in_${database}`, type: 'String' as const },
          { name: 'Table_type', type: 'String' as const },
        ].slice(0, isFull ? 2 : 1);
        yield* outputTable(context, { columns, rows: isFull ? rows : rows.map(([name]) => [name]) }, filter, [
          'Tables',
        ]);
      },
    };
  },
};
