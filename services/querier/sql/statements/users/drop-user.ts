import type { StatementKind } from '../../statement.js';
import { changeOfUser } from './change-of-user.js';

/** `DROP USER [IF EXISTS] name`: with all of its grants and tokens. */
export const dropUserStatement: StatementKind = {
  name: 'DROP USER',

  matches: (cursor) => cursor.sees('DROP', 'USER'),

  parse(cursor) {
    cursor.expect('DROP', 'USER');
    const ifExists = cursor.accept('IF', 'EXISTS');
    const name = cursor.name('user name');
    cursor.expectEnd();
    return changeOfUser(({ deps, call }) => deps.metadata.dropUser({ name, ifExists }, call));
  },
};
