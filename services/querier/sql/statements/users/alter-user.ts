import { command, type StatementContext, type StatementKind } from '../../statement.js';
import { parsePassword, verifierOf } from './password-text.js';
import { appliedChange, requireUserAdmin } from './change-of-user.js';

/** `ALTER USER name [WITH] PASSWORD 'text'`, also of a user that is no administrator for itself. */
export const alterUserStatement: StatementKind = {
  name: 'ALTER USER',
  hidesTexts: true,

  matches: (cursor) => cursor.sees('ALTER', 'USER'),

  parse(cursor) {
    cursor.expect('ALTER', 'USER');
    const name = cursor.name('user name');
    const password = parsePassword(cursor);
    const statement = command((context) => {
      requireOwner(context, name);
      return appliedChange(context, async ({ deps, call }) => {
        return deps.metadata.alterUser({ name, verifier: await verifierOf(password, context) }, call);
      });
    });
    return {
      ...statement,
      check(context) {
        requireOwner(context, name);
        return Promise.resolve();
      },
    };
  },
};

function requireOwner(context: StatementContext, name: string): void {
  const { rights } = context.call;
  const isOwn = rights?.mayChangePassword === true && rights.user === name;
  if (!isOwn) requireUserAdmin(context);
}
