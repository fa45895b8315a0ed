import type { StatementKind } from '../../statement.js';
import { parsePassword, verifierOf } from './password-text.js';
import { userCommand } from './user-command.js';

/** `CREATE USER [IF NOT EXISTS] name [WITH] PASSWORD 'text'`. */
export const createUserStatement: StatementKind = {
  name: 'CREATE USER',
  hidesTexts: true,

  matches: (cursor) => cursor.sees('CREATE', 'USER'),

  parse(cursor) {
    cursor.expect('CREATE', 'USER');
    const ifNotExists = cursor.accept('IF', 'NOT', 'EXISTS');
    const name = cursor.name('user name');
    const password = parsePassword(cursor);
    return userCommand(async ({ deps, call }) => {
      return deps.metadata.createUser({ name, verifier: await verifierOf(password), ifNotExists }, call);
    });
  },
};
