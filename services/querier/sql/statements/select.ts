import type { Cursor } from '../syntax/cursor.js';
import type { QueryText } from '../syntax/query-text.js';
import { answerQuery } from '../run/run-query.js';
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

function queryStatement(query: QueryText): Statement {
  return {
    isQuery: true,
    check: ({ deps, session }) =>
      deps.connections.use((connection) => deps.planner.check(query, session.database, connection)),
    run: (context) => answerQuery(context, query),
  };
}
