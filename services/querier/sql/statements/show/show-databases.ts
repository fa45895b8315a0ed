import { mayAccess } from '#shared/contracts/rights';

import { optionLines } from '../../system-tables/table-text.js';
import { outputTable, parseFilter } from '../../run/table-output.js';
import type { StatementKind } from '../../statement.js';

/** `SHOW [FULL] DATABASES|SCHEMAS`. */
export const showDatabases: StatementKind = {
  name: 'SHOW DATABASES',

  matches: (cursor) =>
    ['DATABASES', 'SCHEMAS'].some((word) => cursor.sees('SHOW', word) || cursor.sees('SHOW', 'FULL', word)),

  parse(cursor) {
    cursor.expect('SHOW');
    const isFull = cursor.accept('FULL');
    cursor.at++;
    const filter = parseFilter(cursor);
    return {
      isQuery: false,
      async *run(context) {
        const { rights } = context.call;
        const stored = (await context.deps.catalog.databases(context.call)).filter(
          ({ name }) => mayAccess(rights, 'read', name) || mayAccess(rights, 'write', name),
        );
        const databases = [...stored, { name: 'information_schema', options: {} }].sort((a, b) =>
          a.name < b.name ? -1 : 1,
        );
        const columns = [
          { name: 'Database', type: 'String' as const },
          { name: 'Options', type: 'String' as const },
        ].slice(0, isFull ? 2 : 1);
        const rows = databases.map(({ name, options }) => (isFull ? [name, optionLines(options)] : [name]));
        yield* outputTable(context, { columns, rows }, filter);
      },
    };
  },
};
