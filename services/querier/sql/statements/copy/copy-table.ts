import { exportQuery, rowsQuery } from '../../copy/export.js';
import { importFiles } from '../../copy/import.js';
import { parseCopyOptions } from '../../copy/copy-options.js';
import { namedFiles } from '../../files/copy-root.js';
import type { Statement, StatementKind } from '../../statement.js';
import type { Cursor } from '../../syntax/cursor.js';

/** `COPY t TO 'path'` and `COPY (query) TO 'path'`. */
export const copyTo: StatementKind = {
  name: 'COPY TO',

  matches: (cursor) => cursor.sees('COPY') && !cursor.sees('COPY', 'DATABASE') && directionOf(cursor) !== 'FROM',

  parse(cursor) {
    cursor.expect('COPY');
    return cursor.seesSymbol('(') ? copyQuery(cursor) : copyRows(cursor);
  },
};

/** `COPY t FROM 'path'`. */
export const copyFrom: StatementKind = {
  name: 'COPY FROM',

  matches: (cursor) => cursor.sees('COPY') && !cursor.sees('COPY', 'DATABASE') && directionOf(cursor) === 'FROM',

  parse(cursor) {
    cursor.expect('COPY');
    const target = cursor.objectName('table name');
    cursor.expect('FROM');
    const path = cursor.text('path');
    const options = parseCopyOptions(cursor, 'from');
    const limit = cursor.accept('LIMIT') ? cursor.integer('the number of maximum rows') : undefined;
    cursor.expectEnd();
    return {
      isQuery: true,
      async *run(context) {
        yield { kind: 'affected', rows: await importFiles(context, { target, path, options, limit }) };
      },
    };
  },
};

/** Returns the first of TO and FROM outside of parentheses. */
export function directionOf({ tokens, from, to }: Cursor): 'TO' | 'FROM' | undefined {
  let depth = 0;
  for (let i = from; i < to; i++) {
    if (tokens.isSymbol(i, '(')) depth++;
    if (tokens.isSymbol(i, ')')) depth--;
    if (depth === 0 && tokens.isWord(i, 'TO')) return 'TO';
    if (depth === 0 && tokens.isWord(i, 'FROM')) return 'FROM';
  }
  return undefined;
}

function copyQuery(cursor: Cursor): Statement {
  cursor.expectSymbol('(');
  const from = cursor.at;
  let depth = 1;
  while (!cursor.done && depth > 0) {
    if (cursor.seesSymbol('(')) depth++;
    if (cursor.seesSymbol(')')) depth--;
    cursor.at++;
  }
  const query = { tokens: cursor.tokens, from, to: cursor.at - 1 };
  if (depth > 0 || query.to <= query.from) throw cursor.unexpected('a query in parentheses');
  cursor.expect('TO');
  const path = cursor.text('path');
  const options = parseCopyOptions(cursor, 'to');
  cursor.expectEnd();
  if (options.startTime !== undefined || options.endTime !== undefined) {
    throw cursor.unexpected('a table instead of a query, for start_time and end_time');
  }
  return {
    isQuery: true,
    check: ({ deps, session }) =>
      deps.connections.use((connection) => deps.planner.check(query, session.database, connection)),
    async *run(context) {
      yield { kind: 'affected', rows: await exportQuery(context, query, path, options) };
    },
  };
}

function copyRows(cursor: Cursor): Statement {
  const source = cursor.objectName('table name');
  cursor.expect('TO');
  const path = cursor.text('path');
  const options = parseCopyOptions(cursor, 'to');
  cursor.expectEnd();
  return {
    isQuery: true,
    async *run(context) {
      const { deps, session, call } = context;
      namedFiles(context);
      const database = deps.names.databaseOf(source.catalog, source.schema, session.database);
      const { name, columns } = await deps.names.getSource(database, source.name, call);
      const timeIndex = columns.find(({ kind }) => kind === 'time')?.name;
      const query = rowsQuery({ database, name, timeIndex }, options);
      yield { kind: 'affected', rows: await exportQuery(context, query, path, options) };
    },
  };
}
