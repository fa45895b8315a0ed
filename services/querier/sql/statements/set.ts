import { AlmanacError } from '#shared/errors/almanac-error';
import { parseZone } from '#shared/time/zone';

import { Kind } from '../syntax/lex.js';
import { command, type StatementKind } from '../statement.js';

const ZONE_NAMES = new Set(['time_zone', 'timezone']);

/** `SET [SESSION|LOCAL] time_zone = 'zone'`, for later statements of the same request. */
export const set: StatementKind = {
  name: 'SET',

  matches: (cursor) => cursor.sees('SET'),

  parse(cursor) {
    cursor.expect('SET');
    if (!cursor.accept('SESSION')) cursor.accept('LOCAL');
    cursor.acceptSymbol('@@');
    const name = cursor.accept('TIME', 'ZONE') ? 'time_zone' : cursor.name('variable');
    if (!ZONE_NAMES.has(name)) {
      throw new AlmanacError(
        'unsupported',
        `Not supported: Unsupported set variable ${name.toUpperCase().slice(0, 60)}`,
      );
    }
    if (!cursor.acceptSymbol('=')) cursor.accept('TO');
    const isText = cursor.tokens.kind(cursor.at) === Kind.text;
    const zone = parseZone(isText ? cursor.text('time zone') : cursor.name('time zone'));
    cursor.expectEnd();
    return command((context) => {
      context.session.zone = zone;
      return Promise.resolve(0);
    });
  },
};
