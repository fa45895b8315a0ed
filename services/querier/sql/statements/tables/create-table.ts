import type { CreateTableRequest } from '#shared/contracts/gen/metadata';
import { AlmanacError } from '#shared/errors/almanac-error';
import { metricOrder, ON_PHYSICAL_TABLE } from '#shared/schema/metric-table';
import { withPartitions, type Partitions } from '#shared/schema/partitions';

import { columnSpec, parseColumn, type ColumnDefinition } from '../../syntax/column-definition.js';
import type { Cursor, ObjectName } from '../../syntax/cursor.js';
import { sourceOf } from '../../../snapshot/logical-table.js';
import { checkTableIdentifier, checkTypes, parseOptions, tableOption } from '../../syntax/options.js';
import { checkPartitions, parseNames, parsePartitions, storedPartitions } from '../../syntax/partition-rules.js';
import { command, type Statement, type StatementContext, type StatementKind } from '../../statement.js';

/** `CREATE TABLE [IF NOT EXISTS] t (..) [PARTITION ..] [ENGINE = e] [WITH (..)]` and `CREATE TABLE a LIKE b`. */
export const createTableStatement: StatementKind = {
  name: 'CREATE TABLE',

  matches: (cursor) => cursor.sees('CREATE', 'TABLE'),

  parse(cursor) {
    cursor.expect('CREATE', 'TABLE');
    const ifNotExists = cursor.accept('IF', 'NOT', 'EXISTS');
    const name = cursor.objectName('table name');
    checkTableIdentifier(name.name);
    if (cursor.accept('LIKE')) return createLike(cursor, name, ifNotExists);
    const body = parseBody(cursor);
    const columns = checkBody(body);
    const options = parseTail(cursor, body);
    checkTypes(
      body.columns.map(({ spec }) => spec),
      options,
    );
    return command(async (context) => {
      const specs = body.columns.map((column) =>
        columnSpec(column, kindOf(column, columns), cursor, context.session.zone),
      );
      return createStored(context, name, {
        columns: ON_PHYSICAL_TABLE in options ? metricOrder(specs) : specs,
        primaryKey: columns.primaryKey,
        options,
        regions: Number(options['regions'] ?? '0'),
        ifNotExists,
      });
    });
  },
};

type Definition = Omit<CreateTableRequest, 'database' | 'name'>;

/** Creates a table of a definition. @throws `table_already_exists`; `unsupported` in a database of system tables. */
export async function createStored(
  context: StatementContext,
  name: ObjectName,
  definition: Definition,
): Promise<number> {
  const { deps, call, session } = context;
  const database = deps.names.databaseOf(name.catalog, name.schema, session.database);
  if (database === 'information_schema') {
    throw new AlmanacError('unsupported', 'Schema `information_schema` is read-only');
  }
  const metric = await deps.names.find(database, name.name, call, 'write');
  if (metric !== undefined && sourceOf(metric) !== undefined) {
    if (definition.ifNotExists) return 0;
    throw alreadyExists(context, database, name);
  }
  // Types are bound here already, so that an invalid one is refused whether or not the table exists.
  try {
    const answer = await deps.metadata.createTable({ ...definition, database, name: name.name }, call);
    await deps.catalog.reached(answer.catalogVersion, call);
  } catch (error) {
    if (!(error instanceof AlmanacError) || error.code !== 'table_already_exists') throw error;
    if ('view' in error.details) {
      const text = `View already exists: \`${deps.names.fullName(database, name.name)}\``;
      throw new AlmanacError('table_already_exists', text, { cause: error });
    }
    throw alreadyExists(context, database, name, error);
  }
  return 0;
}

function alreadyExists(
  { deps }: StatementContext,
  database: string,
  { name }: ObjectName,
  cause?: unknown,
): AlmanacError {
  const text = `Table already exists: \`${deps.names.fullName(database, name)}\``;
  return new AlmanacError('table_already_exists', text, { cause });
}

function createLike(cursor: Cursor, name: ObjectName, ifNotExists: boolean): Statement {
  const source = cursor.objectName('table name');
  cursor.expectEnd();
  return command(async (context) => {
    const { deps, call, session } = context;
    const database = deps.names.databaseOf(source.catalog, source.schema, session.database);
    const table = await deps.names.getStored(database, source.name, 'CREATE TABLE LIKE', call);
    const columns = table.columns.map(({ name: column, type, kind, nullable, defaultSql, comment, indexes }) => ({
      name: column,
      type,
      kind,
      nullable,
      defaultSql,
      comment,
      indexes,
    }));
    return createStored(context, name, {
      columns,
      primaryKey: table.primaryKey,
      options: table.options,
      regions: table.regions.length,
      ifNotExists,
    });
  });
}

interface Body {
  readonly columns: ColumnDefinition[];
  readonly timeIndexes: string[];
  readonly primaryKeys: string[][];
}

function parseBody(cursor: Cursor): Body {
  const body: Body = { columns: [], timeIndexes: [], primaryKeys: [] };
  cursor.expectSymbol('(');
  while (!cursor.acceptSymbol(')')) {
    if (cursor.sees('TIME', 'INDEX')) body.timeIndexes.push(parseTimeIndex(cursor));
    else if (cursor.sees('PRIMARY', 'KEY')) body.primaryKeys.push(parsePrimaryKey(cursor));
    else body.columns.push(parseColumn(cursor));
    if (!cursor.acceptSymbol(',') && !cursor.seesSymbol(')')) throw cursor.unexpected(', or )');
  }
  return body;
}

function parseTimeIndex(cursor: Cursor): string {
  cursor.expect('TIME', 'INDEX');
  const names = parseNames(cursor);
  if (names.length !== 1) {
    throw new AlmanacError('invalid_syntax', 'Invalid time index: it should contain only one column in time index');
  }
  return names[0];
}

function parsePrimaryKey(cursor: Cursor): string[] {
  cursor.expect('PRIMARY', 'KEY');
  return parseNames(cursor);
}

interface Roles {
  readonly timeIndex: string;
  readonly primaryKey: readonly string[];
}

function checkBody({ columns, timeIndexes, primaryKeys }: Body): Roles {
  const times = [...columns.filter((column) => column.isTimeIndex).map((column) => column.spec.name), ...timeIndexes];
  if (times.length === 0) throw new AlmanacError('invalid_syntax', 'Missing time index constraint');
  if (times.length > 1) {
    throw new AlmanacError(
      'invalid_syntax',
      `Invalid time index: expected only one time index constraint but actual ${times.length}`,
    );
  }
  const [timeIndex] = times;
  const primaryKey = checkPrimaryKey(columns, primaryKeys);
  const seen = new Set<string>();
  for (const { spec } of columns) {
    if (seen.has(spec.name)) {
      throw new AlmanacError('invalid_syntax', `Invalid SQL syntax: duplicate column name: ${spec.name}`);
    }
    seen.add(spec.name);
  }
  for (const name of [timeIndex, ...primaryKey]) {
    if (!seen.has(name)) throw new AlmanacError('invalid_arguments', `Column not found: ${name}`);
  }
  if (primaryKey.includes(timeIndex)) {
    throw new AlmanacError(
      'invalid_arguments',
      `Illegal primary keys definition: time index column "${timeIndex}" must not be in the primary key`,
    );
  }
  return { timeIndex, primaryKey };
}

function checkPrimaryKey(columns: readonly ColumnDefinition[], lists: readonly string[][]): readonly string[] {
  const illegal = (reason: string): AlmanacError =>
    new AlmanacError('invalid_arguments', `Illegal primary keys definition: ${reason}`);
  const inline = columns.filter((column) => column.isPrimaryKey).map((column) => column.spec.name);
  if (inline.length > 1) throw illegal('not allowed to inline multiple primary keys in columns options');
  if (inline.length + lists.length > 1) throw illegal('found definitions of primary keys in multiple places');
  const key = inline.length > 0 ? inline : (lists[0] ?? []);
  if (new Set(key).size !== key.length) throw illegal('a column is named twice');
  return key;
}

function kindOf(column: ColumnDefinition, roles: Roles): string {
  if (column.spec.name === roles.timeIndex) return 'time';
  return roles.primaryKey.includes(column.spec.name) ? 'tag' : 'field';
}

const ENGINES = new Set(['mito', 'metric']);

/** Parses what follows the columns and returns the options. */
function parseTail(cursor: Cursor, body: Body): Readonly<Record<string, string>> {
  let options: Readonly<Record<string, string>> = {};
  let partitions: Partitions | undefined;
  while (!cursor.done) {
    if (cursor.accept('PARTITION', 'ON', 'COLUMNS')) partitions = parsePartitionRules(cursor, body);
    else if (cursor.accept('ENGINE')) parseEngine(cursor);
    else if (cursor.accept('WITH')) options = parseOptions(cursor, tableOption);
    else throw cursor.unexpected('ENGINE or WITH');
  }
  if (partitions !== undefined) options = withPartitions(options, partitions);
  return options;
}

function parseEngine(cursor: Cursor): void {
  cursor.acceptSymbol('=');
  const engine = cursor.name('engine');
  if (!ENGINES.has(engine)) {
    throw new AlmanacError('invalid_arguments', `Invalid engine: ${engine.slice(0, 60)}, must be mito or metric`);
  }
}

function parsePartitionRules(cursor: Cursor, body: Body): Partitions {
  const { columns, rules } = parsePartitions(cursor);
  for (const name of columns) {
    if (!body.columns.some((column) => column.spec.name === name)) {
      throw new AlmanacError('invalid_syntax', `Partition column "${name}" not defined`);
    }
  }
  checkPartitions({ columns, rules });
  return storedPartitions(columns, rules);
}
