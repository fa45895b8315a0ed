import type { Table } from '#shared/contracts/gen/common';
import { requireAccess } from '#shared/contracts/rights';
import { PHYSICAL_METRIC_TABLE } from '#shared/schema/metric-table';

import type { InfluxCursor } from './influxql.js';
import { nameTest, type NameTest } from './name-test.js';
import { databaseOf, type InfluxSession } from './session.js';

/** Measurements that a statement reads. */
export interface InfluxSource {
  /** Named before them; undefined: that of the statement. */
  readonly database: string | undefined;
  readonly isShown: NameTest;
}

/** Reads measurements, each a name, a regular expression, or either after `policy.`, `database..` or `database.policy.`. */
export function readSources(cursor: InfluxCursor): readonly InfluxSource[] {
  const sources: InfluxSource[] = [];
  do sources.push(readSource(cursor));
  while (cursor.acceptSymbol(','));
  return sources;
}

function readSource(cursor: InfluxCursor): InfluxSource {
  const first = cursor.condition([]);
  if (!cursor.acceptSymbol('.')) return { database: undefined, isShown: nameTest(first) };
  const hasNoPolicy = cursor.acceptSymbol('.');
  const second = cursor.condition([]);
  const isWhole = !hasNoPolicy && cursor.acceptSymbol('.');
  // Policies have no data of their own.
  if (!hasNoPolicy && !isWhole) return { database: undefined, isShown: nameTest(second) };
  if (first.isPattern) throw cursor.unexpected('name of a database');
  return { database: first.value, isShown: nameTest(isWhole ? cursor.condition([]) : second) };
}

/** Returns the tables that sources name, without those that hold the rows of metrics. @param named database of the statement. */
export async function measurements(
  session: InfluxSession,
  named: string | undefined,
  sources: readonly InfluxSource[],
): Promise<readonly Table[]> {
  const found = new Map<number, Table>();
  for (const { database: own, isShown } of sources) {
    const database = await databaseOf(session, own ?? named ?? session.database);
    requireAccess(session.call, 'read', database.name);
    for (const table of await session.catalog.tables(database.name, session.call)) {
      if (!(PHYSICAL_METRIC_TABLE in table.options) && isShown(table.name)) found.set(table.tableId, table);
    }
  }
  return [...found.values()].sort((a, b) => (a.name < b.name ? -1 : Number(a.name > b.name)));
}
