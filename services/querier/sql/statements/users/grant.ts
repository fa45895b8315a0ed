import type { UserGrantRequest } from '#shared/contracts/gen/metadata';
import type { Mode } from '#shared/contracts/rights';

import type { StatementKind } from '../../statement.js';
import type { Cursor } from '../../syntax/cursor.js';
import { changeOfUser } from './change-of-user.js';

const MODE_WORDS: readonly (readonly [word: string, mode: Mode])[] = [
  ['READ', 'read'],
  ['WRITE', 'write'],
  ['READ_WRITE', 'read_write'],
  ['ADMIN', 'admin'],
];

/** `GRANT mode ON db.*|*.* TO user`: adds to what the user may do there. */
export const grantStatement: StatementKind = {
  name: 'GRANT',

  matches: (cursor) => cursor.sees('GRANT'),

  parse(cursor) {
    cursor.expect('GRANT');
    const mode = parseMode(cursor);
    const request = parseTarget(cursor, mode, 'TO');
    return changeOfUser(({ deps, call }) => deps.metadata.grantMode(request, call));
  },
};

/** `REVOKE mode|ALL ON db.*|*.* FROM user`: removes the rights of a mode, or all. */
export const revokeStatement: StatementKind = {
  name: 'REVOKE',

  matches: (cursor) => cursor.sees('REVOKE'),

  parse(cursor) {
    cursor.expect('REVOKE');
    // The mode that includes all others.
    const mode = cursor.accept('ALL') ? 'admin' : parseMode(cursor, 'ALL, ');
    const request = parseTarget(cursor, mode, 'FROM');
    return changeOfUser(({ deps, call }) => deps.metadata.revokeMode(request, call));
  },
};

function parseMode(cursor: Cursor, others = ''): Mode {
  const found = MODE_WORDS.find(([word]) => cursor.accept(word));
  if (found === undefined) throw cursor.unexpected(`${others}READ, WRITE, READ_WRITE or ADMIN`);
  return found[1];
}

/** Parses `ON db.*|*.* TO|FROM user` up to the end of the statement. */
function parseTarget(cursor: Cursor, mode: Mode, preposition: string): UserGrantRequest {
  cursor.expect('ON');
  const database = cursor.acceptSymbol('*') ? '' : cursor.name('database name or *');
  cursor.expectSymbol('.');
  cursor.expectSymbol('*');
  cursor.expect(preposition);
  const user = cursor.name('user name');
  cursor.expectEnd();
  return { user, database, mode };
}
