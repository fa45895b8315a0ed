import type { Table } from '#shared/contracts/gen/common';
import { AlmanacError } from '#shared/errors/almanac-error';

import { outputTable, parseFilter } from '../../run/table-output.js';
import { type TableOutput } from '../../statement.js';
import type { StatementKind } from '../../statement.js';

const NAMES = [
  'Table',
  'Non_unique',
  'Key_name',
  'Seq_in_index',
  'Column_name',
  'Collation',
  'Cardinality',
  'Sub_part',
  'Packed',
  'Null',
  'Index_type',
  'Comment',
  'Index_comment',
  'Visible',
  'Expression',
];
const NUMBERS = new Set(['Non_unique', 'Seq_in_index', 'Cardinality', 'Sub_part']);

/** `SHOW INDEX|INDEXES|KEYS FROM t [IN db] [WHERE ..]`. */
export const showIndex: StatementKind = {
  name: 'SHOW INDEX',

  matches: (cursor) => ['INDEX', 'INDEXES', 'KEYS'].some((word) => cursor.sees('SHOW', word)),

  parse(cursor) {
    cursor.at += 2;
    if (!cursor.accept('FROM') && !cursor.accept('IN')) throw cursor.unexpected('{FROM | IN} table');
    const { catalog, schema, name } = cursor.objectName('table name');
    const given = cursor.accept('FROM') || cursor.accept('IN') ? cursor.name('database name') : schema;
    if (cursor.sees('LIKE')) throw new AlmanacError('unsupported', 'SQL statement is not supported, keyword: LIKE');
    const filter = parseFilter(cursor);
    return {
      isQuery: false,
      async *run(context) {
        const { deps, session, call } = context;
        const table = await deps.names.get(deps.names.databaseOf(catalog, given, session.database), name, call);
        const columns: TableOutput['columns'] = NAMES.map((column) => ({
          name: column,
          type: NUMBERS.has(column) ? 'Int64' : 'String',
        }));
        yield* outputTable(context, { columns, rows: rowsOf(table) }, filter);
      },
    };
  },
};

function rowsOf(table: Table): (string | number | null)[][] {
  const row = (key: string, sequence: number, column: string, type: string): (string | number | null)[] => {
    const nullable = table.columns.find((candidate) => candidate.name === column)?.nullable === true ? 'YES' : '';
    return [
      table.name,
      key === 'PRIMARY' ? 0 : 1,
      key,
      sequence,
      column,
      'A',
      null,
      null,
      null,
      nullable,
      type,
      '',
      '',
      'YES',
      null,
    ];
  };
  return [
    ...table.primaryKey.map((column, i) => row('PRIMARY', i + 1, column, 'PRIMARY')),
    ...table.columns.filter(({ kind }) => kind === 'time').map(({ name }) => row('TIME INDEX', 1, name, 'TIME')),
    ...table.columns.flatMap(({ name, indexes }) => {
      return indexes.map(({ kind }) => row(`${kind}_INDEX_${name}`, 1, name, kind));
    }),
  ];
}
