import { outputTable } from '../../run/table-output.js';
import type { StatementKind } from '../../run/statement.js';

/** `SHOW STATUS`: what clients of MySQL ask for when they connect; there is nothing to tell. */
export const showStatus: StatementKind = {
  name: 'SHOW STATUS',

  matches: (cursor) => cursor.sees('SHOW', 'STATUS'),

  parse(cursor) {
    cursor.expect('SHOW', 'STATUS');
    cursor.expectEnd();
    const columns = [
      { name: 'Variable_name', type: 'String' as const },
      { name: 'Value', type: 'String' as const },
    ];
    return { isQuery: false, run: (context) => outputTable(context, { columns, rows: [] }) };
  },
};
