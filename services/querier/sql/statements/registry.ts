import type { Access } from '#shared/contracts/rights';
import { AlmanacError } from '#shared/errors/almanac-error';

import type { KnownQuery } from '../plan/plan.js';
import type { Cursor } from '../syntax/cursor.js';
import { Kind } from '../syntax/lex.js';
import { atPlace } from '../syntax/text-place.js';
import { admin } from './admin.js';
import { alterDatabaseStatement } from './tables/alter-database.js';
import { alterTableStatement } from './tables/alter-table.js';
import { commentOn } from './tables/comment-on.js';
import { createDatabaseStatement } from './tables/create-database.js';
import { createExternalTable } from './tables/create-external-table.js';
import { createTableStatement } from './tables/create-table.js';
import { deleteRows } from './rows/delete.js';
import { describe } from './show/describe.js';
import { dropDatabaseStatement } from './tables/drop-database.js';
import { dropTableStatement } from './tables/drop-table.js';
import { createFlowStatement } from './flows/create-flow.js';
import { dropFlowStatement } from './flows/drop-flow.js';
import { showCreateFlow, showFlows, showFlowStatus } from './flows/show-flows.js';
import { explain } from './explain.js';
import { insert } from './rows/insert.js';
import { kill } from './kill.js';
import { knownStatement, select } from './select.js';
import { set } from './set.js';
import { showCatalogViews } from './show/show-catalog.js';
import { showColumns } from './show/show-columns.js';
import { showCreateDatabase } from './show/show-create-database.js';
import { showCreateTable } from './show/show-create-table.js';
import { showDatabases } from './show/show-databases.js';
import { showIndex } from './show/show-index.js';
import { showProcesses } from './show/show-processes.js';
import { showRegions } from './show/show-regions.js';
import { showStatus } from './show/show-status.js';
import { showTables } from './show/show-tables.js';
import { showVariables } from './show/show-variables.js';
import type { Statement, StatementKind } from '../statement.js';
import { tql } from './tql.js';
import { truncate } from './rows/truncate.js';
import { use } from './use.js';
import { alterUserStatement } from './users/alter-user.js';
import { createUserStatement } from './users/create-user.js';
import { dropUserStatement } from './users/drop-user.js';
import { grantStatement, revokeStatement } from './users/grant.js';
import { showGrants, showTokens, showUsers } from './users/show-users.js';
import { createTokenStatement, dropTokenStatement } from './users/tokens.js';
import { copyDatabaseFrom, copyDatabaseTo } from './copy/copy-database.js';
import { copyFrom, copyTo } from './copy/copy-table.js';
import { createViewStatement } from './views/create-view.js';
import { dropViewStatement } from './views/drop-view.js';
import { showCreateView, showViews } from './views/show-views.js';

/** The access to some database that a statement needs; `own`: none, it checks itself what a user may do with its account. */
export type StatementAccess = Access | 'own';

/** All kinds of statements, by the access that they need; the first that matches is used. */
const STATEMENT_KINDS: Readonly<Record<StatementAccess, readonly StatementKind[]>> = {
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
    ...showCatalogViews,
    showViews,
    showProcesses,
    kill,
    showFlows,
    showFlowStatus,
    showCreateFlow,
    showVariables,
    showCreateView,
    copyTo,
    copyDatabaseTo,
  ],
  write: [
    insert,
    deleteRows,
    createTableStatement,
    createDatabaseStatement,
    alterTableStatement,
    alterDatabaseStatement,
    commentOn,
    dropTableStatement,
    dropDatabaseStatement,
    truncate,
    createViewStatement,
    dropViewStatement,
    copyFrom,
    copyDatabaseFrom,
    createExternalTable,
    createFlowStatement,
    dropFlowStatement,
  ],
  admin: [
    admin,
    createUserStatement,
    dropUserStatement,
    grantStatement,
    revokeStatement,
    createTokenStatement,
    dropTokenStatement,
    showUsers,
    showGrants,
    showTokens,
  ],
  own: [alterUserStatement],
};
/** Statements that change neither tables nor databases nor users, or are too many. */
const UNAUDITED: ReadonlySet<StatementKind> = new Set([
  ...STATEMENT_KINDS.read.filter((kind) => ![copyTo, copyDatabaseTo, kill].includes(kind)),
  insert,
  deleteRows,
  showUsers,
  showGrants,
  showTokens,
]);
const KINDS = (['read', 'write', 'admin', 'own'] as const).flatMap((access) => {
  return STATEMENT_KINDS[access].map((kind) => ({ kind, access }));
});

/** A statement, and the access that it needs. */
export interface ParsedStatement {
  readonly statement: Statement;
  /** As documentation names its kind: `CREATE TABLE`. */
  readonly name: string;
  readonly access: StatementAccess;
  /** Its text without passwords, cut to some length. */
  readonly text: string;
  /** Whether it is to be recorded who ran it. */
  readonly isAudited: boolean;
}

/** Characters of a statement in the audit log and the list of processes. */
const SHOWN_LENGTH_MAX = 1_000;

/** What may follow the first words of statements with more than one; longer ones first. */
const CONTINUATIONS: readonly (readonly [words: readonly string[], expected: string])[] = [
  [['SHOW', 'CREATE'], 'TABLE, VIEW, DATABASE or FLOW'],
  [['SHOW', 'FULL'], 'DATABASES, TABLES, COLUMNS, PROCESSLIST or REGIONS'],
  [
    ['SHOW'],
    'DATABASES, TABLES, COLUMNS, INDEX, REGIONS, VIEWS, PROCESSLIST, CREATE, FULL, FLOWS, STATUS, VARIABLES, USERS, GRANTS or TOKENS',
  ],
  [['INSERT'], 'INTO'],
  [['REPLACE'], 'INTO'],
  [['DELETE'], 'FROM'],
  [['CREATE'], 'TABLE, EXTERNAL TABLE, VIEW, DATABASE, FLOW, USER or TOKEN'],
  [['ALTER'], 'TABLE, DATABASE or USER'],
  [['COMMENT'], 'ON'],
  [['DROP'], 'TABLE, VIEW, DATABASE, FLOW, USER or TOKEN'],
];

/** Returns the statement of a query whose plan is found by its text. @param sql the whole text */
export function parsedQuery(known: KnownQuery, sql: string): ParsedStatement {
  const statement = knownStatement(known, sql);
  return {
    statement,
    name: select.name,
    access: 'read',
    text: known.text.slice(0, SHOWN_LENGTH_MAX),
    isAudited: false,
  };
}

/** Parses the statement at a cursor. @throws `unsupported` for a first word that begins none. */
export function parseStatement(cursor: Cursor): ParsedStatement {
  const found = KINDS.find(({ kind }) => kind.matches(cursor));
  if (found !== undefined) {
    const { kind, access } = found;
    const statement = kind.parse(cursor);
    return { statement, name: kind.name, access, text: shownText(cursor, kind), isAudited: !UNAUDITED.has(kind) };
  }
  if (cursor.sees('CREATE', 'TRIGGER')) {
    throw new AlmanacError('unsupported', 'SQL statement is not supported, keyword: TRIGGER');
  }
  for (const [words, expected] of CONTINUATIONS) if (cursor.accept(...words)) throw cursor.unexpected(expected);
  const word = cursor.tokens.raw(cursor.from).slice(0, 50);
  const error = new AlmanacError('unsupported', `SQL statement is not supported, keyword: ${word}`);
  throw atPlace(error, cursor.tokens.place(cursor.from));
}

/** Returns the text of a statement without passwords and the comments around them. */
function shownText({ tokens, from, to }: Cursor, { hidesTexts = false }: StatementKind): string {
  if (!hidesTexts) return tokens.source.slice(tokens.start(from), tokens.end(to - 1)).slice(0, SHOWN_LENGTH_MAX);
  const words: string[] = [];
  for (let i = from; i < to; i++) {
    const isText = tokens.kind(i) === Kind.text || tokens.kind(i) === Kind.escapeText;
    words.push(isText ? "'***'" : tokens.raw(i));
  }
  return words.join(' ').slice(0, SHOWN_LENGTH_MAX);
}
