import { AlmanacError } from '#shared/errors/almanac-error';
import { isExternal } from '#shared/schema/external-table';
import { PHYSICAL_METRIC_TABLE } from '#shared/schema/metric-table';
import { requireAccess } from '#shared/contracts/rights';

import { parseCopyOptions, type CopyOptions } from '../../copy/copy-options.js';
import { namedFiles } from '../../files/copy-root.js';
import { exportQuery, rowsQuery } from '../../copy/export.js';
import { importFiles } from '../../copy/import.js';
import type { Statement, StatementContext, StatementKind } from '../../statement.js';
import type { Cursor } from '../../syntax/cursor.js';
import { directionOf } from './copy-table.js';

/** `COPY DATABASE db TO 'folder/'`: a file for each table. */
export const copyDatabaseTo: StatementKind = {
  name: 'COPY DATABASE TO',

  matches: (cursor) => cursor.sees('COPY', 'DATABASE') && directionOf(cursor) !== 'FROM',

  parse: (cursor) => parseCopy(cursor, 'TO', exportDatabase),
};

/** `COPY DATABASE db FROM 'folder/'`: into the table that each file is named after. */
export const copyDatabaseFrom: StatementKind = {
  name: 'COPY DATABASE FROM',

  matches: (cursor) => cursor.sees('COPY', 'DATABASE') && directionOf(cursor) === 'FROM',

  parse: (cursor) => parseCopy(cursor, 'FROM', importDatabase),
};

interface DatabaseCopy {
  readonly database: string;
  /** Ends with a slash. */
  readonly folder: string;
  readonly options: CopyOptions;
}

function parseCopy(
  cursor: Cursor,
  direction: 'TO' | 'FROM',
  run: (context: StatementContext, copy: DatabaseCopy) => Promise<number>,
): Statement {
  cursor.expect('COPY', 'DATABASE');
  const { schema: catalog, name: database } = cursor.objectName('database name');
  cursor.expect(direction);
  const folder = cursor.text('path');
  const options = parseCopyOptions(cursor, 'database');
  if (cursor.sees('LIMIT')) throw new AlmanacError('invalid_syntax', 'Invalid SQL, error: limit is not supported');
  cursor.expectEnd();
  if (!folder.endsWith('/')) {
    throw new AlmanacError('invalid_arguments', `path of COPY DATABASE must end with "/": ${folder.slice(0, 200)}`);
  }
  return {
    isQuery: true,
    async *run(context) {
      namedFiles(context);
      const { deps, call } = context;
      deps.names.databaseOf(catalog, database, database);
      requireAccess(call, direction === 'TO' ? 'read' : 'write', database);
      await deps.catalog.database(database, call);
      yield { kind: 'affected', rows: await run(context, { database, folder, options }) };
    },
  };
}

/** Writes a file for each table and metric. Metrics are not written twice, as parts of their physical table too. */
async function exportDatabase(context: StatementContext, copy: DatabaseCopy): Promise<number> {
  const { database, folder, options } = copy;
  const { deps, call } = context;
  let rows = 0;
  for (const name of await deps.names.all(database, call)) {
    const table = await deps.names.find(database, name, call);
    // It was dropped meanwhile.
    if (table === undefined || table.options[PHYSICAL_METRIC_TABLE] === 'true') continue;
    const timeIndex = table.columns.find(({ kind }) => kind === 'time')?.name;
    const query = rowsQuery({ database, name, timeIndex }, options);
    rows += await exportQuery(context, query, `${folder}${name}.${options.format}`, options);
  }
  return rows;
}

/** Reads the files that are named after tables, one after another. Nothing can be written to external tables. */
async function importDatabase(context: StatementContext, copy: DatabaseCopy): Promise<number> {
  const { database, folder, options } = copy;
  const files = await namedFiles(context).filesAt(folder);
  const suffix = `.${options.format}`;
  let rows = 0;
  for (const { name: file } of files) {
    if (!file.endsWith(suffix)) continue;
    const target = { catalog: '', schema: database, name: file.slice(0, -suffix.length) };
    const table = await context.deps.names.find(database, target.name, context.call, 'write');
    if (table !== undefined && isExternal(table)) continue;
    rows += await importFiles(context, { target, path: `${folder}${file}`, options, limit: undefined });
  }
  return rows;
}
