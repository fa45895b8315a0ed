import { quoteText } from '#shared/duckdb/quote';

import { Cursor } from '../../syntax/cursor.js';
import { lexSql } from '../../syntax/lex.js';
import { parseFilter } from '../../run/table-output.js';
import { select } from '../select.js';
import type { StatementKind } from '../../statement.js';

/** A SHOW statement that shows columns of a table of `information_schema` under other names. */
interface CatalogView {
  readonly name: string;
  /** Words after SHOW, of which one form is given. */
  readonly words: readonly (readonly string[])[];
  /** Names by expression. */
  readonly columns: readonly (readonly [name: string, expression: string])[];
  readonly table: string;
  /** Whether it shows one database: that of FROM or IN, or the session's. */
  readonly isOfDatabase: boolean;
}

const TABLE_STATUS: CatalogView['columns'] = [
  ['Name', 'table_name'],
  ['Engine', 'engine'],
  ['Version', 'version'],
  ['Row_format', 'row_format'],
  ['Rows', 'table_rows'],
  ['Avg_row_length', 'avg_row_length'],
  ['Data_length', 'data_length'],
  ['Max_data_length', 'max_data_length'],
  ['Index_length', 'index_length'],
  ['Data_free', 'data_free'],
  ['Auto_increment', 'auto_increment'],
  ['Create_time', 'create_time'],
  ['Update_time', 'update_time'],
  ['Check_time', 'check_time'],
  ['Collation', 'table_collation'],
  ['Checksum', 'checksum'],
  ['Create_options', 'create_options'],
  ['Comment', 'table_comment'],
];

const VIEWS: readonly CatalogView[] = [
  {
    name: 'SHOW TABLE STATUS',
    words: [['TABLE', 'STATUS']],
    columns: TABLE_STATUS,
    table: 'tables',
    isOfDatabase: true,
  },
  {
    name: 'SHOW CHARSET',
    words: [['CHARSET'], ['CHARACTER', 'SET']],
    columns: [
      ['Charset', 'character_set_name'],
      ['Description', 'description'],
      ['Default collation', 'default_collate_name'],
      ['Maxlen', 'maxlen'],
    ],
    table: 'character_sets',
    isOfDatabase: false,
  },
  {
    name: 'SHOW COLLATION',
    words: [['COLLATION']],
    columns: [
      ['Collation', 'collation_name'],
      ['Charset', 'character_set_name'],
      ['Id', 'id'],
      ['Default', 'is_default'],
      ['Compiled', 'is_compiled'],
      ['Sortlen', 'sortlen'],
    ],
    table: 'collations',
    isOfDatabase: false,
  },
];

/** `SHOW TABLE STATUS`, `SHOW CHARSET`, `SHOW COLLATION`, with LIKE or WHERE. */
export const showCatalogViews: readonly StatementKind[] = VIEWS.map((view) => ({
  name: view.name,

  matches: (cursor) => view.words.some((words) => cursor.sees('SHOW', ...words)),

  parse(cursor) {
    cursor.expect('SHOW');
    view.words.some((words) => cursor.accept(...words));
    const isNamed = view.isOfDatabase && (cursor.accept('FROM') || cursor.accept('IN'));
    const given = isNamed ? cursor.name('database name') : undefined;
    const filter = parseFilter(cursor);
    const [[first]] = view.columns;
    const condition =
      filter === undefined
        ? ''
        : 'like' in filter
          ? ` WHERE "${first}" LIKE ${quoteText(filter.like)}`
          : ` WHERE (${filter.where})`;
    return {
      isQuery: false,
      run(context) {
        const items = view.columns.map(([name, expression]) => `${expression} AS "${name}"`).join(', ');
        const database = given ?? context.session.database;
        const own = view.isOfDatabase ? ` WHERE table_schema = ${quoteText(database)}` : '';
        const tokens = lexSql(
          `SELECT * FROM (SELECT ${items} FROM information_schema.${view.table}${own}) AS shown${condition} ORDER BY "${first}"`,
        );
        return select.parse(new Cursor(tokens, 0, tokens.count)).run(context);
      },
    };
  },
}));
