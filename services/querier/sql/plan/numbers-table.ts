import type { GivenTable } from './given-table.js';

/** Rows of the table, unless the LIMIT of a query requests more. */
const ROWS = 100;
/** Most rows that a LIMIT can add. */
const ROWS_MAX = 100_000_000;

/** Returns SQL of the table with at least this number of rows. */
function relationOf(rowCount: number): string {
  const count = Number.isSafeInteger(rowCount) ? Math.min(Math.max(rowCount, ROWS), ROWS_MAX) : ROWS;
  return `(SELECT CAST(range AS UINTEGER) AS number FROM range(${count}))`;
}

/** The virtual table `public.numbers`: one column `number` that counts from 0. */
export const NUMBERS: GivenTable = {
  ...{ tableId: 0, databaseId: 0, database: 'public', name: 'numbers', schemaVersion: 0, options: {}, regions: [] },
  ...{ createdMs: 0, primaryKey: [], ttl: '' },
  columns: [
    {
      ...{ id: 1, name: 'number', type: 'UInt32', kind: 'field', nullable: false },
      ...{ defaultSql: '', comment: '', backfillSql: '', formerTypes: [], indexes: [] },
    },
  ],
  relation: relationOf(ROWS),
  relationOf,
};
