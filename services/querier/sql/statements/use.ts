import { requireDatabase } from '#shared/contracts/rights';

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
      requireDatabase(call, name);
      await deps.catalog.database(name, call);
      session.database = name;
      return 0;
    });
  },
};
