import type { StatementKind } from '../../statement.js';
import { parsePassword, verifierOf } from './password-text.js';
import { changeOfUser } from './change-of-user.js';

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
    return changeOfUser(async (context) => {
      const verifier = await verifierOf(password, context);
      return context.deps.metadata.createUser({ name, verifier, ifNotExists }, context.call);
    });
  },
};
