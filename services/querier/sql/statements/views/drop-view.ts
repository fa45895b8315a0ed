import { AlmanacError } from '#shared/errors/almanac-error';

import { command, type StatementContext, type StatementKind } from '../../statement.js';
import type { ObjectName } from '../../syntax/cursor.js';

/** `DROP VIEW [IF EXISTS] a [, b]`. */
export const dropViewStatement: StatementKind = {
  name: 'DROP VIEW',

  matches: (cursor) => cursor.sees('DROP', 'VIEW'),

  parse(cursor) {
    cursor.expect('DROP', 'VIEW');
    const ifExists = cursor.accept('IF', 'EXISTS');
    const views: ObjectName[] = [cursor.objectName('view name')];
    while (cursor.acceptSymbol(',')) views.push(cursor.objectName('view name'));
    cursor.expectEnd();
    return command(async (context) => {
      for (const view of views) await drop(context, view, ifExists);
      return 0;
    });
  },
};

async function drop({ deps, session, call }: StatementContext, view: ObjectName, ifExists: boolean): Promise<void> {
  const { name } = view;
  const database = deps.names.databaseOf(view.catalog, view.schema, session.database);
  const fullName = deps.names.fullName(database, name);
  if ((await deps.names.find(database, name, call, 'write')) !== undefined) {
    throw new AlmanacError('invalid_arguments', `${fullName} is not a view: use DROP TABLE`);
  }
  const { dropped, catalogVersion } = await deps.metadata.dropView({ database, name, ifExists: true }, call);
  if (!dropped && !ifExists) throw new AlmanacError('table_not_found', `View not found: ${fullName}`);
  await deps.catalog.reached(catalogVersion, call);
}
