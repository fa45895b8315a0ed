import { newToken, newTokenName, tokenHash } from '#shared/auth/token';

import { outputTable } from '../../run/table-output.js';
import type { StatementContext, StatementEvent, StatementKind } from '../../statement.js';
import { appliedChange, checkUserAdmin, requireUserAdmin, changeOfUser } from './change-of-user.js';

/** `CREATE TOKEN [name] FOR user`: returns the token, which is stored as a hash and not shown again. */
export const createTokenStatement: StatementKind = {
  name: 'CREATE TOKEN',

  matches: (cursor) => cursor.sees('CREATE', 'TOKEN'),

  parse(cursor) {
    cursor.expect('CREATE', 'TOKEN');
    const name = cursor.sees('FOR') ? newTokenName() : cursor.name('token name');
    cursor.expect('FOR');
    const user = cursor.name('user name');
    cursor.expectEnd();
    return { isQuery: false, check: checkUserAdmin, run: (context) => createToken(context, user, name) };
  },
};

async function* createToken(context: StatementContext, user: string, name: string): AsyncIterable<StatementEvent> {
  requireUserAdmin(context);
  const token = newToken();
  await appliedChange(context, ({ deps, call }) => {
    return deps.metadata.createToken({ user, name, hash: tokenHash(token) }, call);
  });
  const columns = ['User', 'Name', 'Token'].map((column) => ({ name: column, type: 'String' as const }));
  yield* outputTable(context, { columns, rows: [[user, name, token]] });
}

/** `DROP TOKEN name FOR user`. */
export const dropTokenStatement: StatementKind = {
  name: 'DROP TOKEN',

  matches: (cursor) => cursor.sees('DROP', 'TOKEN'),

  parse(cursor) {
    cursor.expect('DROP', 'TOKEN');
    const name = cursor.name('token name');
    cursor.expect('FOR');
    const user = cursor.name('user name');
    cursor.expectEnd();
    return changeOfUser(({ deps, call }) => deps.metadata.dropToken({ user, name }, call));
  },
};
