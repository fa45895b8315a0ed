import type { CreateViewRequest, ViewColumn } from '#shared/contracts/gen/metadata';
import { AlmanacError } from '#shared/errors/almanac-error';
import type { OutputColumn } from '#shared/formats/format';
import { columnTypeOf } from '#shared/schema/data-type';
import { checkColumnName } from '#shared/schema/names';

import { VIEW_DEPTH_MAX } from '../../plan/load-views.js';
import { spanText } from '../../range/spans.js';
import { describeQuery } from '../../run/run-query.js';
import type { Statement, StatementContext, StatementKind } from '../../statement.js';
import type { Cursor, ObjectName } from '../../syntax/cursor.js';
import { inlineTql } from '../../syntax/inline-tql.js';
import { normalText } from '../../syntax/normal-text.js';
import { checkTableIdentifier } from '../../syntax/options.js';
import type { QueryText } from '../../syntax/query-text.js';

interface Definition {
  readonly name: ObjectName;
  readonly orReplace: boolean;
  readonly ifNotExists: boolean;
  /** Names that the columns are given; undefined: those of the query. */
  readonly columns: readonly string[] | undefined;
  readonly query: QueryText;
  readonly statement: string;
}

/** `CREATE [OR REPLACE] VIEW [IF NOT EXISTS] v [(cols)] AS query`. */
export const createViewStatement: StatementKind = {
  name: 'CREATE VIEW',

  matches: (cursor) => cursor.sees('CREATE', 'VIEW') || cursor.sees('CREATE', 'OR', 'REPLACE', 'VIEW'),

  parse(cursor) {
    cursor.expect('CREATE');
    const orReplace = cursor.accept('OR', 'REPLACE');
    cursor.expect('VIEW');
    const ifNotExists = cursor.accept('IF', 'NOT', 'EXISTS');
    if (orReplace && ifNotExists) {
      const text = 'syntax error Create Or Replace and If Not Exist cannot be used together';
      throw new AlmanacError('invalid_arguments', text);
    }
    const name = cursor.objectName('view name');
    checkTableIdentifier(name.name);
    const columns = parseColumns(cursor);
    cursor.expect('AS');
    const query = parseQuery(cursor);
    const statement = normalText({ tokens: cursor.tokens, from: cursor.from, to: cursor.to });
    return creation({ name, orReplace, ifNotExists, columns, query, statement });
  },
};

function parseColumns(cursor: Cursor): string[] | undefined {
  if (!cursor.acceptSymbol('(')) return undefined;
  const columns: string[] = [];
  while (!cursor.acceptSymbol(')')) {
    columns.push(cursor.name('column name'));
    if (!cursor.acceptSymbol(',') && !cursor.seesSymbol(')')) throw cursor.unexpected(', or )');
  }
  return columns;
}

function parseQuery(cursor: Cursor): QueryText {
  const isQuery = ['SELECT', 'WITH', 'VALUES', 'FROM'].some((word) => cursor.sees(word)) || cursor.seesSymbol('(');
  const query = { tokens: cursor.tokens, from: cursor.at, to: cursor.to };
  if (cursor.sees('TQL') || (isQuery && inlineTql(query).parts.length > 0)) {
    throw new AlmanacError('unsupported', 'Not supported: TQL in the query of a view');
  }
  if (!isQuery) throw cursor.unexpected('a query');
  return query;
}

function creation(definition: Definition): Statement {
  const { query } = definition;
  return {
    isQuery: true,
    check: ({ deps, session }) =>
      deps.connections.use((connection) => deps.planner.check(query, session.database, connection)),
    async *run(context) {
      yield { kind: 'affected', rows: await create(context, definition) };
    },
  };
}

async function create(context: StatementContext, definition: Definition): Promise<number> {
  const { deps, session, call } = context;
  const { name, query, statement, orReplace, ifNotExists } = definition;
  const database = deps.names.databaseOf(name.catalog, name.schema, session.database);
  if ((await deps.names.find(database, name.name, call, 'write')) !== undefined) {
    throw exists('Table', deps.names.fullName(database, name.name));
  }
  const { columns: results, plan } = await describeQuery(context, query);
  if (plan.views.some((view) => view.database === database && view.name === name.name)) {
    throw new AlmanacError('invalid_arguments', `view ${name.name} cannot refer to itself`);
  }
  if (plan.viewDepth >= VIEW_DEPTH_MAX) {
    const text = `view ${name.name} would be nested more than ${VIEW_DEPTH_MAX} deep in others`;
    throw new AlmanacError('invalid_arguments', text);
  }
  const columns = columnsOf(definition, results);
  const view = {
    ...{ viewId: 0, createdMs: 0, database, name: name.name, columns, statement },
    query: spanText(query),
    queryDatabase: session.database,
  };
  const { catalogVersion } = await stored(context, { view, orReplace, ifNotExists });
  await context.slot.releaseWhile(() => deps.catalog.reached(catalogVersion, call));
  return 0;
}

async function stored(
  { deps, call }: StatementContext,
  request: CreateViewRequest,
): Promise<{ readonly catalogVersion: bigint }> {
  try {
    return await deps.metadata.createView(request, call);
  } catch (error) {
    if (!(error instanceof AlmanacError) || error.code !== 'table_already_exists') throw error;
    const fullName = deps.names.fullName(request.view?.database ?? '', request.view?.name ?? '');
    throw exists('view' in error.details ? 'View' : 'Table', fullName, error);
  }
}

function exists(what: 'Table' | 'View', fullName: string, cause?: unknown): AlmanacError {
  return new AlmanacError('table_already_exists', `${what} already exists: \`${fullName}\``, { cause });
}

function columnsOf({ name, columns }: Definition, results: readonly OutputColumn[]): ViewColumn[] {
  if (columns !== undefined && columns.length !== results.length) {
    const text = `Expect ${results.length} columns for view ${name.name}, but found ${columns.length}`;
    throw new AlmanacError('invalid_arguments', text);
  }
  const taken = new Set<string>();
  return results.map((result, i) => {
    const column = columns?.[i] ?? result.name;
    checkColumnName(column);
    // The engine folds letter case.
    if (taken.has(column.toLowerCase())) {
      const text = `view ${name.name} would have two columns "${column}": name its columns, as in CREATE VIEW v (a, b) AS`;
      throw new AlmanacError('invalid_arguments', text);
    }
    taken.add(column.toLowerCase());
    return { name: column, source: result.name, type: columnTypeOf(result.type.name) };
  });
}
