import { command, type StatementKind } from '../statement.js';

/** `USE db`, for later statements of the same request. */
export const use: StatementKind = {
  name: 'USE',

  matches: (cursor) => cursor.sees('USE'),

  parse(cursor) {
    cursor.expect('USE');
    const { name } = cursor.objectName('database name');
    cursor.expectEnd();
    return command(async ({ deps, session, call }) => {
      await deps.names.checkDatabase(name, call);
      session.database = name;
      return 0;
    });
  },
};
