import { quoteName } from '#shared/duckdb/quote';
import { AlmanacError } from '#shared/errors/almanac-error';

import type { InfluxCursor } from './influxql.js';
import {
  alterPolicy,
  createPolicy,
  dropPolicy,
  policyConflicts,
  policyOptions,
  policySeries,
  policySettings,
} from './retention-policy.js';
import { readSelect } from './select/run.js';
import { databaseOf, type InfluxSeries, type InfluxSession, type InfluxStatement } from './session.js';
import { showFieldKeys, showMeasurements, showTagKeys, showTagValues } from './show-schema.js';

/** All statements by their first words. The functions read the rest. */
const STATEMENTS: readonly (readonly [string, (cursor: InfluxCursor) => InfluxStatement['run']])[] = [
  ['SELECT', readSelect],
  ['CREATE DATABASE', createDatabase],
  ['DROP DATABASE', dropDatabase],
  ['SHOW DATABASES', () => showDatabases],
  ['CREATE RETENTION POLICY', createPolicy],
  ['ALTER RETENTION POLICY', alterPolicy],
  ['DROP RETENTION POLICY', dropPolicy],
  ['SHOW RETENTION POLICIES', showPolicies],
  ['SHOW MEASUREMENTS', showMeasurements],
  ['SHOW TAG KEYS', showTagKeys],
  ['SHOW TAG VALUES', showTagValues],
  ['SHOW FIELD KEYS', showFieldKeys],
];

/** Reads one statement. @throws `invalid_syntax`. */
export function readStatement(cursor: InfluxCursor): InfluxStatement {
  for (const [words, readRest] of STATEMENTS) {
    if (!cursor.accept(...words.split(' '))) continue;
    return { isReadOnly: words === 'SELECT' || words.startsWith('SHOW'), words, run: readRest(cursor) };
  }
  throw cursor.unexpected(STATEMENTS.map(([words]) => words).join(', '));
}

function createDatabase(cursor: InfluxCursor): InfluxStatement['run'] {
  const name = cursor.name();
  const options = cursor.accept('WITH') ? policyOptions(cursor, { mayName: true }) : undefined;
  return async (session) => {
    const known = (await session.catalog.databases(session.call)).find((database) => database.name === name);
    if (known !== undefined && options !== undefined && policyConflicts(known, options)) {
      throw new AlmanacError('invalid_arguments', 'retention policy conflicts with an existing policy');
    }
    const settings = policySettings(options ?? { name: undefined, durationNs: undefined });
    const tail = settings === '' ? '' : ` WITH (${settings})`;
    await session.execute(`CREATE DATABASE IF NOT EXISTS ${quoteName(name)}${tail}`);
    return [];
  };
}

function dropDatabase(cursor: InfluxCursor): InfluxStatement['run'] {
  const name = cursor.name();
  return async ({ execute }) => {
    await execute(`DROP DATABASE IF EXISTS ${quoteName(name)}`);
    return [];
  };
}

async function showDatabases({ catalog, call }: InfluxSession): Promise<InfluxSeries[]> {
  const names = (await catalog.databases(call)).map(({ name }) => name).sort();
  return [{ name: 'databases', columns: ['name'], values: names.map((name) => [name]) }];
}

function showPolicies(cursor: InfluxCursor): InfluxStatement['run'] {
  const named = cursor.accept('ON') ? cursor.name() : undefined;
  return async (session) => [policySeries(await databaseOf(session, named ?? session.database))];
}
