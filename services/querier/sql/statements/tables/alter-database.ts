import { requireAccess } from '#shared/contracts/rights';
import { AlmanacError } from '#shared/errors/almanac-error';

import { databaseOption, isDatabaseKey, parseSetOptions, parseUnsetOptions } from '../../syntax/options.js';
import { command, type StatementKind } from '../../statement.js';

/** Options that tables read from their database when needed; others are copied to a table at its creation. */
const INHERITED = /^(ttl|compaction\.|sst_format|influxdb\.)/;

/** `ALTER DATABASE n SET 'k' = 'v', ..` and `UNSET 'k', ..`. */
export const alterDatabaseStatement: StatementKind = {
  name: 'ALTER DATABASE',

  matches: (cursor) => cursor.sees('ALTER', 'DATABASE') || cursor.sees('ALTER', 'SCHEMA'),

  parse(cursor) {
    cursor.at += 2;
    const { name } = cursor.objectName('database name');
    const isUnset = cursor.accept('UNSET');
    if (!isUnset) cursor.expect('SET');
    const set = isUnset ? [] : parseSetOptions(cursor, databaseOption);
    const unset = isUnset ? parseUnsetOptions(cursor, checkInherited) : [];
    cursor.expectEnd();
    for (const { key, value } of set) {
      if (INHERITED.test(key)) continue;
      throw new AlmanacError('invalid_arguments', `Invalid set database option, key: ${key}, value: ${value}`);
    }
    return command(async ({ deps, call }) => {
      requireAccess(call, 'write', name);
      const before = await deps.catalog.database(name, call);
      const kept = Object.entries(before.options).filter(([key]) => !unset.includes(key));
      const options = Object.fromEntries([...kept, ...set.map(({ key, value }) => [key, value] as const)]);
      const { catalogVersion } = await deps.metadata.alterDatabase({ name, options }, call);
      await deps.catalog.reached(catalogVersion, call);
      return 0;
    });
  },
};

function checkInherited(key: string): void {
  if (!INHERITED.test(key) || !isDatabaseKey(key)) {
    throw new AlmanacError('invalid_arguments', `Invalid unset database option, key: ${key.slice(0, 100)}`);
  }
}
