import type { Cursor } from '../syntax/cursor.js';
import type { QueryText } from '../syntax/query-text.js';
import type { KnownQuery } from '../plan/plan.js';
import { answerKnown, answerQuery } from '../run/run-query.js';
import { lexSql } from '../syntax/lex.js';
import { splitStatements } from '../syntax/split.js';
import type { Statement, StatementKind } from '../statement.js';

/** SELECT, VALUES, WITH, FROM first, and queries in parentheses. */
export const select: StatementKind = {
  name: 'SELECT',

  matches: (cursor) => ['SELECT', 'WITH', 'VALUES', 'FROM'].some((word) => cursor.sees(word)) || cursor.seesSymbol('('),

  parse: (cursor) => queryStatement(restOf(cursor)),
};

function restOf(cursor: Cursor): QueryText {
  return { tokens: cursor.tokens, from: cursor.at, to: cursor.to };
}

/** Returns the statement of a query whose plan is found by its text. @param sql the whole text */
export function knownStatement(known: KnownQuery, sql: string): Statement {
  return {
    isQuery: true,
    run: (context) => answerKnown(context, known, () => restOf(splitStatements(lexSql(sql))[0])),
  };
}

function queryStatement(query: QueryText): Statement {
  return {
    isQuery: true,
    check: ({ deps, session }) =>
      deps.connections.use((connection) => deps.planner.check(query, session.database, connection)),
    run: (context) => answerQuery(context, query),
  };
}
