import { AlmanacError } from '#shared/errors/almanac-error';

import { Kind } from '../../syntax/lex.js';
import { outputTable } from '../../run/table-output.js';
import type { StatementContext, StatementKind } from '../../statement.js';

const VARIABLES: ReadonlyMap<string, (context: StatementContext) => string> = new Map([
  ['time_zone', ({ session }) => session.zone.name],
  ['timezone', ({ session }) => session.zone.name],
  ['system_time_zone', () => 'UTC'],
  ['search_path', ({ session }) => session.database],
  ['read_preference', () => 'LEADER'],
  ['datestyle', () => 'ISO, MDY'],
  // Requests over HTTP have their timeouts in headers.
  ['max_execution_time', () => '0'],
  ['statement_timeout', () => '0'],
]);

/** Words that cannot be the name of a variable here. */
const STATEMENT_WORDS = ['CREATE', 'FULL', 'USERS', 'GRANTS', 'TOKENS'];

/** `SHOW [VARIABLES] name`: one column, named by the variable. Any name that no other SHOW begins with is a variable. */
export const showVariables: StatementKind = {
  name: 'SHOW VARIABLES',

  matches: (cursor) =>
    cursor.sees('SHOW', 'VARIABLES') ||
    (cursor.sees('SHOW') &&
      cursor.to - cursor.at === 2 &&
      cursor.tokens.kind(cursor.at + 1) === Kind.word &&
      !STATEMENT_WORDS.some((word) => cursor.sees('SHOW', word))),

  parse(cursor) {
    cursor.expect('SHOW');
    cursor.accept('VARIABLES');
    const name = cursor.name('variable');
    cursor.expectEnd();
    const value = VARIABLES.get(name.toLowerCase());
    if (value === undefined) {
      throw new AlmanacError('invalid_arguments', `Unsupported show variable: ${name.slice(0, 60)}`);
    }
    return {
      isQuery: false,
      run: (context) =>
        outputTable(context, {
          columns: [{ name: name === 'search_path' ? name : name.toUpperCase(), type: 'String' }],
          rows: [[value(context)]],
        }),
    };
  },
};
