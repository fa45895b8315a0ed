import type { Column } from '#shared/contracts/gen/common';
import { dataType } from '#shared/schema/data-type';
import { shownTypeName } from '#shared/schema/json-hints';

import { outputTable, parseFilter } from '../../run/table-output.js';
import { type TableOutput } from '../../statement.js';
import type { StatementKind } from '../../statement.js';

const COLUMNS = ['Field', 'Type', 'Null', 'Key', 'Default', 'Extra', 'Greptime_type'];
const FULL_COLUMNS = [
  'Field',
  'Type',
  'Collation',
  'Null',
  'Key',
  'Default',
  'Comment',
  'Privileges',
  'Extra',
  'Greptime_type',
];

/** `SHOW [FULL] COLUMNS|FIELDS FROM t [FROM db]`. */
export const showColumns: StatementKind = {
  name: 'SHOW COLUMNS',

  matches: (cursor) =>
    ['COLUMNS', 'FIELDS'].some((word) => cursor.sees('SHOW', word) || cursor.sees('SHOW', 'FULL', word)),

  parse(cursor) {
    cursor.expect('SHOW');
    const isFull = cursor.accept('FULL');
    cursor.at++;
    if (!cursor.accept('FROM') && !cursor.accept('IN')) throw cursor.unexpected('{FROM | IN} table');
    const { catalog, schema, name } = cursor.objectName('table name');
    const given = cursor.accept('FROM') || cursor.accept('IN') ? cursor.name('database name') : schema;
    const filter = parseFilter(cursor);
    return {
      isQuery: false,
      async *run(context) {
        const { deps, session, call } = context;
        const source = await deps.names.getSource(deps.names.databaseOf(catalog, given, session.database), name, call);
        const columns: TableOutput['columns'] = (isFull ? FULL_COLUMNS : COLUMNS).map((column) => ({
          name: column,
          type: 'String',
        }));
        const sorted = [...source.columns].sort((a, b) => (a.name < b.name ? -1 : 1));
        yield* outputTable(context, { columns, rows: sorted.map((column) => rowOf(column, isFull)) }, filter);
      },
    };
  },
};

function rowOf(column: Column, isFull: boolean): (string | null)[] {
  const key = column.kind === 'tag' ? 'PRI' : column.kind === 'time' ? 'TIME INDEX' : '';
  const type = dataType(shownTypeName(column.type)).sql.toLowerCase();
  const nullable = column.nullable ? 'Yes' : 'No';
  const byDefault = column.defaultSql === '' ? null : column.defaultSql;
  if (!isFull) return [column.name, type, nullable.toUpperCase(), key, byDefault, '', shownTypeName(column.type)];
  const collation = column.type === 'String' ? 'utf8_bin' : null;
  return [
    column.name,
    type,
    collation,
    nullable.toUpperCase(),
    key,
    byDefault,
    column.comment,
    'select,insert',
    '',
    shownTypeName(column.type),
  ];
}
