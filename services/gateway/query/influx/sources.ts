import type { Table } from '#shared/contracts/gen/common';
import { requireAccess } from '#shared/contracts/rights';
import { PHYSICAL_METRIC_TABLE } from '#shared/schema/metric-table';

import type { InfluxCursor } from './influxql.js';
import { nameTest, type NameTest } from './name-test.js';
import { databaseOf, type InfluxSession } from './session.js';

/** Reads measurements, each a name, a regular expression, or either after `database.policy.`. */
export function readSources(cursor: InfluxCursor): NameTest {
  const tests: NameTest[] = [];
  do {
    let condition = cursor.condition([]);
    while (cursor.acceptSymbol('.')) {
      while (cursor.acceptSymbol('.'));
      condition = cursor.condition([]);
    }
    tests.push(nameTest(condition));
  } while (cursor.acceptSymbol(','));
  return (name) => tests.some((test) => test(name));
}

/** Returns the tables of a database by name, without the one that holds the rows of metrics. */
export async function measurements(
  session: InfluxSession,
  named: string | undefined,
  isShown: NameTest,
): Promise<readonly Table[]> {
  const database = await databaseOf(session, named ?? session.database);
  requireAccess(session.call, 'read', database.name);
  const tables = await session.catalog.tables(database.name, session.call);
  return tables
    .filter(({ name, options }) => !(PHYSICAL_METRIC_TABLE in options) && isShown(name))
    .sort((a, b) => (a.name < b.name ? -1 : 1));
}
