import type { Access } from '#shared/contracts/rights';
import { AlmanacError } from '#shared/errors/almanac-error';

import type { Cursor } from '../syntax/cursor.js';
import { admin } from './admin.js';
import { alterDatabaseStatement } from './tables/alter-database.js';
import { alterTableStatement } from './tables/alter-table.js';
import { createDatabaseStatement } from './tables/create-database.js';
import { createTableStatement } from './tables/create-table.js';
import { deleteRows } from './rows/delete.js';
import { describe } from './show/describe.js';
import { dropDatabaseStatement } from './tables/drop-database.js';
import { dropTableStatement } from './tables/drop-table.js';
import { explain } from './explain.js';
import { insert } from './rows/insert.js';
import { select } from './select.js';
import { set } from './set.js';
import { showColumns } from './show/show-columns.js';
import { showCreateDatabase } from './show/show-create-database.js';
import { showCreateTable } from './show/show-create-table.js';
import { showDatabases } from './show/show-databases.js';
import { showIndex } from './show/show-index.js';
import { showRegions } from './show/show-regions.js';
import { showStatus } from './show/show-status.js';
import { showTables } from './show/show-tables.js';
import { showVariables } from './show/show-variables.js';
import type { Statement, StatementKind } from '../statement.js';
import { tql } from './tql.js';
import { truncate } from './rows/truncate.js';
import { use } from './use.js';

/** All kinds of statements, by the access that they need to some database; the first that matches is used. */
const STATEMENT_KINDS: Readonly<Record<Access, readonly StatementKind[]>> = {
  read: [
    select,
    describe,
    explain,
    tql,
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
  ],
  write: [
    insert,
    deleteRows,
    createTableStatement,
    createDatabaseStatement,
    alterTableStatement,
    alterDatabaseStatement,
    dropTableStatement,
    dropDatabaseStatement,
    truncate,
  ],
  admin: [admin],
};
const KINDS = (['read', 'write', 'admin'] as const).flatMap((access) => {
  return STATEMENT_KINDS[access].map((kind) => ({ kind, access }));
});

/** A statement, and the access to some database that it needs. */
export interface ParsedStatement {
  readonly statement: Statement;
  readonly access: Access;
  /** Its text, if it is to be recorded who ran it. */
  readonly audited: string | undefined;
}

/** Characters of a statement in the audit log. */
const AUDITED_LENGTH_MAX = 1_000;

/** What may follow the first words of statements with more than one; longer ones first. */
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

/** Parses the statement at a cursor. @throws `unsupported` for a first word that begins none. */
export function parseStatement(cursor: Cursor): ParsedStatement {
  const found = KINDS.find(({ kind }) => kind.matches(cursor));
  if (found !== undefined) {
    const { kind, access } = found;
    const { tokens, from, to } = cursor;
    const text = tokens.source.slice(tokens.start(from), tokens.end(to - 1)).slice(0, AUDITED_LENGTH_MAX);
    const isAudited = access !== 'read' && kind !== insert && kind !== deleteRows;
    return { statement: kind.parse(cursor), access, audited: isAudited ? text : undefined };
  }
  for (const [words, expected] of CONTINUATIONS) if (cursor.accept(...words)) throw cursor.unexpected(expected);
  const word = cursor.tokens.raw(cursor.from).slice(0, 50);
  throw new AlmanacError('unsupported', `SQL statement is not supported, keyword: ${word}`);
}
