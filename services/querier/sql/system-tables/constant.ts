import { systemTable, type SystemRow, type SystemTable } from './system-table.js';

const DATABASE = 'information_schema';

/** Rows of `public.numbers`. */
const NUMBERS = 100;

/** The table of the numbers from 0 to 99. */
export const NUMBERS_TABLE: SystemTable = systemTable('public', 'numbers', 'number UInt32', () =>
  Array.from({ length: NUMBERS }, (_, number): SystemRow => ({ number })),
);

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
