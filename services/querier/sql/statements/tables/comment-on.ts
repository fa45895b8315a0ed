import { AlmanacError } from '#shared/errors/almanac-error';

import type { Cursor } from '../../syntax/cursor.js';
import { command, type StatementKind } from '../../statement.js';
import { alter, changedColumn } from './alter-table.js';
import type { TableChange } from './table-change.js';

/** `COMMENT ON TABLE t IS 'text'` and `COMMENT ON COLUMN t.c IS 'text'`; NULL removes the comment. */
export const commentOn: StatementKind = {
  name: 'COMMENT ON',

  matches: (cursor) => cursor.sees('COMMENT', 'ON'),

  parse(cursor) {
    cursor.expect('COMMENT', 'ON');
    const isColumn = cursor.accept('COLUMN');
    if (!isColumn && !cursor.accept('TABLE')) throw cursor.unexpected('TABLE or COLUMN');
    const path = parsePath(cursor);
    const column = isColumn ? path.pop() : undefined;
    if (path.length === 0 || path.length > 3) throw cursor.unexpected(isColumn ? 'table.column' : 'table name');
    cursor.expect('IS');
    const comment = cursor.accept('NULL') ? '' : cursor.text('comment', true);
    cursor.expectEnd();
    const [name, schema = '', catalog = ''] = path.reverse();
    const change = column === undefined ? ofTable(comment) : changedColumn(column, (it) => ({ ...it, comment }));
    return command(async (context) => {
      const { deps, session, call } = context;
      const database = deps.names.databaseOf(catalog, schema, session.database);
      const table = await deps.names.getStored(database, name, 'COMMENT ON', call);
      await alter(table, [{ ...change, isOfLogicalTables: true }], context);
      return 0;
    });
  },
};

function parsePath(cursor: Cursor): string[] {
  const names = [cursor.name('name')];
  while (cursor.acceptSymbol('.')) names.push(cursor.name('name'));
  return names;
}

/** Characters of a comment, which is part of every listing of tables. */
const COMMENT_LENGTH_MAX = 10_000;

function ofTable(comment: string): TableChange {
  if (comment.length > COMMENT_LENGTH_MAX) {
    throw new AlmanacError('invalid_arguments', `a comment has at most ${COMMENT_LENGTH_MAX} characters`);
  }
  return {
    apply(form) {
      const { comment: _, ...others } = form.options;
      return { ...form, options: comment === '' ? others : { ...others, comment } };
    },
  };
}
