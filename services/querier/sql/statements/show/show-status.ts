import { outputTable } from '../../run/table-output.js';
import type { StatementKind } from '../../statement.js';

/** `SHOW STATUS`: requested by MySQL clients when they connect; always empty. */
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
