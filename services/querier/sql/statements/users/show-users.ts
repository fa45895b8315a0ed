import type { StoredUser } from '#shared/contracts/gen/metadata';
import { AlmanacError } from '#shared/errors/almanac-error';

import { outputTable, parseFilter, type ShowFilter } from '../../run/table-output.js';
import type { Statement, StatementContext, StatementKind, TableOutput } from '../../statement.js';
import type { Cursor } from '../../syntax/cursor.js';
import { checkUserAdmin, requireUserAdmin } from './change-of-user.js';

type Listed = TableOutput['rows'][number];

const column = (name: string, type: 'String' | 'Int64' = 'String'): TableOutput['columns'][number] => ({ name, type });

/** `SHOW USERS`: the users that SQL manages. */
export const showUsers: StatementKind = {
  name: 'SHOW USERS',

  matches: (cursor) => cursor.sees('SHOW', 'USERS'),

  parse(cursor) {
    cursor.expect('SHOW', 'USERS');
    const filter = parseFilter(cursor);
    return listing(
      [column('User'), column('Grants', 'Int64'), column('Tokens', 'Int64')],
      (context) => usersOf(context, undefined),
      ({ name, grants, tokens }) => [[name, grants.length, tokens.length]],
      filter,
    );
  },
};

/** `SHOW GRANTS [FOR user]`. */
export const showGrants: StatementKind = {
  name: 'SHOW GRANTS',

  matches: (cursor) => cursor.sees('SHOW', 'GRANTS'),

  parse(cursor) {
    cursor.expect('SHOW', 'GRANTS');
    const user = parseUser(cursor);
    const filter = parseFilter(cursor);
    return listing(
      [column('User'), column('Mode'), column('On')],
      (context) => usersOf(context, user),
      ({ name, grants }) => {
        return grants.map(({ database, mode }) => [
          name,
          mode.toUpperCase(),
          database === '' ? '*.*' : `${database}.*`,
        ]);
      },
      filter,
    );
  },
};

/** `SHOW TOKENS [FOR user]`: names, not the tokens themselves. */
export const showTokens: StatementKind = {
  name: 'SHOW TOKENS',

  matches: (cursor) => cursor.sees('SHOW', 'TOKENS'),

  parse(cursor) {
    cursor.expect('SHOW', 'TOKENS');
    const user = parseUser(cursor);
    const filter = parseFilter(cursor);
    return listing(
      [column('User'), column('Name'), column('Created')],
      (context) => usersOf(context, user),
      ({ name, tokens }) => tokens.map((token) => [name, token.name, new Date(token.createdMs).toISOString()]),
      filter,
    );
  },
};

function parseUser(cursor: Cursor): string | undefined {
  return cursor.accept('FOR') ? cursor.name('user name') : undefined;
}

/** Creates a statement of administrators that lists rows of users. */
function listing(
  columns: TableOutput['columns'],
  users: (context: StatementContext) => Promise<readonly StoredUser[]>,
  rowsOf: (user: StoredUser) => Listed[],
  filter: ShowFilter,
): Statement {
  return {
    isQuery: false,
    check: checkUserAdmin,
    async *run(context) {
      requireUserAdmin(context);
      const rows = (await users(context)).flatMap(rowsOf);
      yield* outputTable(context, { columns, rows }, filter);
    },
  };
}

async function usersOf({ deps, call }: StatementContext, name: string | undefined): Promise<readonly StoredUser[]> {
  const { users } = await deps.metadata.listUsers({}, call);
  if (name === undefined) return users;
  const found = users.filter((user) => user.name === name);
  if (found.length === 0) throw new AlmanacError('invalid_arguments', `User not found: ${name.slice(0, 80)}`);
  return found;
}
