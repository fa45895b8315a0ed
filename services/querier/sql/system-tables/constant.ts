import { systemTable, type SystemTable } from './system-table.js';

const DATABASE = 'information_schema';

/** Rows of `public.numbers`, unless the LIMIT of a query requests more. */
const NUMBERS = 100;
/** Most rows that a LIMIT can add. */
const NUMBERS_MAX = 100_000_000;

/** Returns SQL of the table with at least this number of rows. */
function numbersOf(rowCount: number): string {
  const count = Number.isInteger(rowCount) ? Math.min(Math.max(rowCount, NUMBERS), NUMBERS_MAX) : NUMBERS;
  return `(SELECT CAST(range AS UINTEGER) AS number FROM range(${count}))`;
}

/** The table `public.numbers`, which counts from 0. The engine makes its rows. */
export const NUMBERS_TABLE: SystemTable = {
  ...systemTable('public', 'numbers', 'number UInt32'),
  relation: numbersOf(NUMBERS),
  relationOf: numbersOf,
};

/** Tables of character sets and collations, whose rows never change. */
export function constantTables(): SystemTable[] {
  return [
    systemTable(
      DATABASE,
      'character_sets',
      'character_set_name, default_collate_name, description String, maxlen Int64',
      () => [{ character_set_name: 'utf8', default_collate_name: 'utf8_bin', description: 'UTF-8 Unicode', maxlen: 4 }],
    ),
    systemTable(
      DATABASE,
      'collations',
      'collation_name, character_set_name String, id Int64, is_default, is_compiled String, sortlen Int64',
      () => [
        {
          ...{ collation_name: 'utf8_bin', character_set_name: 'utf8', id: 1 },
          ...{ is_default: 'Yes', is_compiled: 'Yes', sortlen: 1 },
        },
      ],
    ),
    systemTable(DATABASE, 'collation_character_set_applicability', 'collation_name, character_set_name String', () => [
      { collation_name: 'utf8_bin', character_set_name: 'utf8' },
    ]),
  ];
}
