import { AlmanacError } from '#shared/errors/almanac-error';

import type { Cursor } from '../cursor.js';
import { admin } from './admin.js';
import { alterDatabase } from './alter-database.js';
import { alterTable } from './alter-table.js';
import { createDatabase } from './create-database.js';
import { createTable } from './create-table.js';
import { deleteRows } from './delete.js';
import { describe } from './describe.js';
import { dropDatabase } from './drop-database.js';
import { dropTable } from './drop-table.js';
import { explain } from './explain.js';
import { insert } from './insert.js';
import { select } from './select.js';
import { set } from './set.js';
import { showColumns } from './show-columns.js';
import { showCreateDatabase } from './show-create-database.js';
import { showCreateTable } from './show-create-table.js';
import { showDatabases } from './show-databases.js';
import { showIndex } from './show-index.js';
import { showRegions } from './show-regions.js';
import { showStatus } from './show-status.js';
import { showTables } from './show-tables.js';
import { showVariables } from './show-variables.js';
import type { Statement, StatementKind } from './statement.js';
import { tql } from './tql.js';
import { truncate } from './truncate.js';
import { use } from './use.js';

export const STATEMENT_KINDS: readonly StatementKind[] = [
  select,
  insert,
  deleteRows,
  createTable,
  createDatabase,
  alterTable,
  alterDatabase,
  dropTable,
  dropDatabase,
  truncate,
  describe,
  explain,
  tql,
  admin,
  use,
  set,
  showTables,
  showDatabases,
  showColumns,
  showCreateTable,
  showCreateDatabase,
  showIndex,
  showRegions,
  showStatus,
  showVariables,
];

/** What follows the first words of statements that have more than one; the longer ones first. */
const CONTINUATIONS: readonly (readonly [words: readonly string[], expected: string])[] = [
  [['SHOW', 'CREATE'], 'TABLE or DATABASE'],
  [['SHOW', 'FULL'], 'DATABASES, TABLES, COLUMNS or REGIONS'],
  [['SHOW'], 'DATABASES, TABLES, COLUMNS, INDEX, REGIONS, CREATE, FULL, STATUS or VARIABLES'],
  [['INSERT'], 'INTO'],
  [['REPLACE'], 'INTO'],
  [['DELETE'], 'FROM'],
  [['CREATE'], 'TABLE or DATABASE'],
  [['ALTER'], 'TABLE or DATABASE'],
  [['DROP'], 'TABLE or DATABASE'],
];

/** The statement that a cursor stands at. @throws `unsupported` for a first word that begins none. */
export function parseStatement(cursor: Cursor): Statement {
  const kind = STATEMENT_KINDS.find((candidate) => candidate.matches(cursor));
  if (kind !== undefined) return kind.parse(cursor);
  for (const [words, expected] of CONTINUATIONS) if (cursor.accept(...words)) throw cursor.unexpected(expected);
  const word = cursor.tokens.raw(cursor.from).slice(0, 50);
  throw new AlmanacError('unsupported', `SQL statement is not supported, keyword: ${word}`);
}
