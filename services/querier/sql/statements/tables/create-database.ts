import { requireAccess } from '#shared/contracts/rights';
import { AlmanacError } from '#shared/errors/almanac-error';

import { checkDatabaseIdentifier, databaseOption, parseOptions } from '../../syntax/options.js';
import { command, type StatementKind } from '../../statement.js';

/** `CREATE DATABASE|SCHEMA [IF NOT EXISTS] n [WITH (..)]`. */
export const createDatabaseStatement: StatementKind = {
  name: 'CREATE DATABASE',

  matches: (cursor) => cursor.sees('CREATE', 'DATABASE') || cursor.sees('CREATE', 'SCHEMA'),

  parse(cursor) {
    cursor.at += 2;
    const ifNotExists = cursor.accept('IF', 'NOT', 'EXISTS');
    const { name, schema } = cursor.objectName('database name');
    const options = cursor.accept('WITH') ? parseOptions(cursor, databaseOption) : {};
    cursor.expectEnd();
    if (schema !== '' && schema !== 'almanac' && schema !== 'greptime') throw cursor.unexpected('database name');
    checkDatabaseIdentifier(name);
    return command(async ({ deps, call }) => {
      requireAccess(call, 'write', name);
      const answer = await createOrExplain(name, () =>
        deps.metadata.createDatabase({ name, options, ifNotExists }, call),
      );
      await deps.catalog.reached(answer.catalogVersion, call);
      return 1;
    });
  },
};

async function createOrExplain<T>(name: string, create: () => Promise<T>): Promise<T> {
  try {
    return await create();
  } catch (error) {
    if (!(error instanceof AlmanacError) || error.code !== 'database_already_exists') throw error;
    throw new AlmanacError('invalid_arguments', `Schema ${name} already exists`, { cause: error });
  }
}
