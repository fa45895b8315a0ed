import { AlmanacError } from '#shared/errors/almanac-error';
import { parseZone } from '#shared/time/zone';

import { Kind } from '../syntax/lex.js';
import type { Cursor } from '../syntax/cursor.js';
import { command, type Statement, type StatementKind } from '../statement.js';

const ZONE_NAMES = new Set(['time_zone', 'timezone']);

/** Variables of clients that change nothing here, and their values. */
const WITHOUT_EFFECT: Readonly<Record<string, RegExp>> = {
  read_preference: /^(?:leader|follower)$/i,
  allow_query_fallback: /^(?:true|false|on|off|0|1)$/i,
  datestyle: /^[a-z ,]+$/i,
  intervalstyle: /^(?:iso_8601|sql_standard|postgres|postgres_verbose)$/i,
  bytea_output: /^(?:hex|escape)$/i,
};

function parseWithoutEffect(cursor: Cursor, name: string): Statement {
  if (!cursor.acceptSymbol('=')) cursor.accept('TO');
  const kind = cursor.done ? undefined : cursor.tokens.kind(cursor.at);
  const value =
    kind === Kind.text || kind === Kind.quoted
      ? cursor.text('value', true)
      : cursor.done
        ? ''
        : cursor.tokens.raw(cursor.at++);
  cursor.expectEnd();
  if (WITHOUT_EFFECT[name].test(value)) return command(() => Promise.resolve(0));
  const what = name.replaceAll('_', ' ');
  const text = `Not supported: Invalid ${what} expr ${value.slice(0, 60)} in set variable statement`;
  throw new AlmanacError('unsupported', text);
}

/** `SET [SESSION|LOCAL] time_zone = 'zone'`, for later statements of the same request. */
export const set: StatementKind = {
  name: 'SET',

  matches: (cursor) => cursor.sees('SET'),

  parse(cursor) {
    cursor.expect('SET');
    if (!cursor.accept('SESSION')) cursor.accept('LOCAL');
    cursor.acceptSymbol('@@');
    const name = cursor.accept('TIME', 'ZONE') ? 'time_zone' : cursor.name('variable');
    if (Object.hasOwn(WITHOUT_EFFECT, name)) return parseWithoutEffect(cursor, name);
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
