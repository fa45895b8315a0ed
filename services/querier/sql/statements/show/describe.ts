import { shownTypeName } from '#shared/schema/json-hints';

import { outputTable } from '../../run/table-output.js';
import { type TableOutput } from '../../statement.js';
import type { StatementKind } from '../../statement.js';

const COLUMNS: TableOutput['columns'] = ['Column', 'Type', 'Key', 'Null', 'Default', 'Semantic Type'].map((name) => ({
  name,
  type: 'String',
}));
const SEMANTIC: Readonly<Record<string, string>> = { tag: 'TAG', field: 'FIELD', time: 'TIMESTAMP' };

/** `DESC|DESCRIBE [TABLE] t`. */
export const describe: StatementKind = {
  name: 'DESCRIBE',

  matches: (cursor) => cursor.sees('DESC') || cursor.sees('DESCRIBE'),

  parse(cursor) {
    cursor.at++;
    cursor.accept('TABLE');
    const { catalog, schema, name } = cursor.objectName('table name');
    cursor.expectEnd();
    return {
      isQuery: false,
      async *run(context) {
        const { deps, session, call } = context;
        const source = await deps.names.getSource(deps.names.databaseOf(catalog, schema, session.database), name, call);
        const rows = source.columns.map(({ name: column, type, kind, nullable, defaultSql }) => [
          column,
          shownTypeName(type),
          kind === 'field' ? '' : 'PRI',
          nullable ? 'YES' : 'NO',
          defaultSql,
          SEMANTIC[kind] ?? 'FIELD',
        ]);
        yield* outputTable(context, { columns: COLUMNS, rows });
      },
    };
  },
};
