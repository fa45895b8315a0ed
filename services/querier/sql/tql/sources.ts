import type { Table } from '#shared/contracts/gen/common';

import { parseQuery } from '../../promql/syntax/parse.js';
import type { StatementContext } from '../statement.js';
import { subjectsOf } from './subjects.js';

/** Returns the tables and metrics that PromQL queries read, as far as they exist. */
export async function tqlSources(queries: readonly string[], context: StatementContext): Promise<Table[]> {
  const { deps, session, call, slot } = context;
  const samples = deps.promql.open(session.database, call, slot);
  try {
    const tables: Table[] = [];
    for (const query of queries) {
      const expr = parseQuery(query, deps.promql.dialect);
      const subjects = await slot.releaseWhile(() => subjectsOf(expr, samples, deps, call));
      for (const subject of subjects.values()) if (subject !== undefined) tables.push(subject.table);
    }
    return tables;
  } finally {
    samples.close();
  }
}
