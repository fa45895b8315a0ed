import type { DroppedTable } from '#shared/contracts/gen/metadata';

import { confirmDropped } from './confirm-dropped.js';
import type { ObjectName } from '../../syntax/cursor.js';
import { command, type StatementKind } from '../../statement.js';

/** `DROP TABLE [IF EXISTS] a [, b]`. */
export const dropTableStatement: StatementKind = {
  name: 'DROP TABLE',

  matches: (cursor) => cursor.sees('DROP', 'TABLE'),

  parse(cursor) {
    cursor.expect('DROP', 'TABLE');
    const ifExists = cursor.accept('IF', 'EXISTS');
    const tables: ObjectName[] = [cursor.objectName('table name')];
    while (cursor.acceptSymbol(',')) tables.push(cursor.objectName('table name'));
    cursor.expectEnd();
    return command(async ({ deps, session, call }) => {
      const found: { database: string; name: string }[] = [];
      for (const { catalog, schema, name } of tables) {
        const database = deps.names.databaseOf(catalog, schema, session.database);
        if ((await deps.names.findStored(database, name, 'DROP TABLE', call)) !== undefined) {
          found.push({ database, name });
        } else if (!ifExists) throw await deps.names.hinted(deps.names.notFound(database, name), call);
      }
      const dropped: DroppedTable[] = [];
      let version = 0n;
      for (const name of found) {
        const { table, catalogVersion } = await deps.metadata.dropTable({ ...name, ifExists: true }, call);
        if (table !== undefined) dropped.push(table);
        version = catalogVersion;
      }
      await confirmDropped(deps, dropped, version, call);
      return 0;
    });
  },
};
