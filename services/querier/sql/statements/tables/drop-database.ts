import { requireAccess } from '#shared/contracts/rights';
import { AlmanacError } from '#shared/errors/almanac-error';

import { confirmDropped } from './confirm-dropped.js';
import { command, type StatementKind } from '../../statement.js';

const READ_ONLY = new Set(['public', 'information_schema', 'greptime_private', 'almanac_private', 'pg_catalog']);

/** `DROP DATABASE|SCHEMA [IF EXISTS] n`. */
export const dropDatabaseStatement: StatementKind = {
  name: 'DROP DATABASE',

  matches: (cursor) => cursor.sees('DROP', 'DATABASE') || cursor.sees('DROP', 'SCHEMA'),

  parse(cursor) {
    cursor.at += 2;
    const ifExists = cursor.accept('IF', 'EXISTS');
    const { name } = cursor.objectName('database name');
    cursor.expectEnd();
    return command(async ({ deps, session, call }) => {
      requireAccess(call, 'write', name);
      if (READ_ONLY.has(name)) throw new AlmanacError('unsupported', `Schema \`${name}\` is read-only`);
      if (name === session.database) throw new AlmanacError('invalid_arguments', `Schema \`${name}\` is in use`);
      const { tables, catalogVersion } = await deps.metadata.dropDatabase({ name, ifExists }, call);
      await confirmDropped(deps, tables, catalogVersion, call);
      return 0;
    });
  },
};
