import { AlmanacError } from '#shared/errors/almanac-error';

import { outputTable, parseFilter } from '../../run/table-output.js';
import type { StatementKind } from '../../statement.js';

/** `SHOW VIEWS [FROM|IN db]`. */
export const showViews: StatementKind = {
  name: 'SHOW VIEWS',

  matches: (cursor) => cursor.sees('SHOW', 'VIEWS'),

  parse(cursor) {
    cursor.expect('SHOW', 'VIEWS');
    const given = cursor.accept('FROM') || cursor.accept('IN') ? cursor.name('database name') : undefined;
    const filter = parseFilter(cursor);
    return {
      isQuery: false,
      async *run(context) {
        const { deps, session, call } = context;
        const database = given ?? session.database;
        await deps.names.checkDatabase(database, call);
        const rows = deps.names.viewsOf(database, call).map(({ name }) => [name]);
        yield* outputTable(context, { columns: [{ name: 'Views', type: 'String' }], rows }, filter);
      },
    };
  },
};

/** `SHOW CREATE VIEW v`. */
export const showCreateView: StatementKind = {
  name: 'SHOW CREATE VIEW',

  matches: (cursor) => cursor.sees('SHOW', 'CREATE', 'VIEW'),

  parse(cursor) {
    cursor.expect('SHOW', 'CREATE', 'VIEW');
    const { catalog, schema, name } = cursor.objectName('view name');
    cursor.expectEnd();
    return {
      isQuery: false,
      async *run(context) {
        const { deps, session, call } = context;
        const database = deps.names.databaseOf(catalog, schema, session.database);
        const view = await deps.names.findView(database, name, call);
        if (view === undefined) {
          throw new AlmanacError('table_not_found', `View not found: ${deps.names.fullName(database, name)}`);
        }
        const columns = [
          { name: 'View', type: 'String' as const },
          { name: 'Create View', type: 'String' as const },
        ];
        yield* outputTable(context, { columns, rows: [[view.name, view.statement]] });
      },
    };
  },
};
