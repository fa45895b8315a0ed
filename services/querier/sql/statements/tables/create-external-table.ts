import { AlmanacError } from '#shared/errors/almanac-error';
import type { ColumnSpec } from '#shared/contracts/gen/metadata';
import { EXTERNAL_LOCATION } from '#shared/schema/external-table';

import { inferredColumns } from '../../files/inferred-columns.js';
import { filesOf, type ExternalFormat } from '../../files/external-files.js';
import { namedFiles } from '../../files/copy-root.js';
import type { StatementContext, StatementKind } from '../../statement.js';
import { columnSpec, parseColumn, type ColumnDefinition } from '../../syntax/column-definition.js';
import type { Cursor, ObjectName } from '../../syntax/cursor.js';
import { checkTableIdentifier, parseOptions } from '../../syntax/options.js';
import { createStored } from './create-table.js';

const FORMATS: ReadonlySet<string> = new Set(['parquet', 'csv', 'json']);
const OPTIONS = new Set([EXTERNAL_LOCATION, 'format', 'pattern', 'delimiter']);
/** Names of the time index, if the statement marks none, by the catalog's name. */
const TIME_COLUMNS: Readonly<Record<string, string>> = {
  almanac: 'almanac_timestamp',
  greptime: 'greptime_timestamp',
};

interface Definition {
  readonly name: ObjectName;
  readonly ifNotExists: boolean;
  /** Undefined: those of the files. */
  readonly columns: readonly ColumnDefinition[] | undefined;
  readonly timeIndex: string | undefined;
  readonly options: Readonly<Record<string, string>>;
}

/** `CREATE EXTERNAL TABLE [IF NOT EXISTS] t [(cols)] WITH (LOCATION = 'path', FORMAT = 'f')`: rows stay in the files. */
export const createExternalTable: StatementKind = {
  name: 'CREATE EXTERNAL TABLE',

  matches: (cursor) => cursor.sees('CREATE', 'EXTERNAL', 'TABLE'),

  parse(cursor) {
    cursor.expect('CREATE', 'EXTERNAL', 'TABLE');
    const ifNotExists = cursor.accept('IF', 'NOT', 'EXISTS');
    const name = cursor.objectName('table name');
    checkTableIdentifier(name.name);
    const body = cursor.acceptSymbol('(') ? parseBody(cursor) : { columns: undefined, timeIndex: undefined };
    if (cursor.accept('ENGINE')) {
      cursor.expectSymbol('=');
      cursor.expect('FILE');
    }
    cursor.expect('WITH');
    const options = parseFileOptions(cursor);
    cursor.expectEnd();
    const definition = { name, ifNotExists, ...body, options };
    return {
      isQuery: true,
      async *run(context) {
        yield { kind: 'affected', rows: await create(context, cursor, definition) };
      },
    };
  },
};

function parseBody(cursor: Cursor): Pick<Definition, 'columns' | 'timeIndex'> {
  const columns: ColumnDefinition[] = [];
  let timeIndex: string | undefined;
  while (!cursor.acceptSymbol(')')) {
    if (cursor.accept('TIME', 'INDEX')) {
      cursor.expectSymbol('(');
      timeIndex = cursor.name('column name');
      cursor.expectSymbol(')');
    } else {
      const column = parseColumn(cursor);
      columns.push(column);
      if (column.isTimeIndex) timeIndex = column.spec.name;
    }
    if (!cursor.acceptSymbol(',') && !cursor.seesSymbol(')')) throw cursor.unexpected(', or )');
  }
  return { columns, timeIndex };
}

function parseFileOptions(cursor: Cursor): Record<string, string> {
  const given = parseOptions(cursor, (_key, value) => value);
  const options: Record<string, string> = {};
  for (const [key, value] of Object.entries(given)) {
    const name = key.toLowerCase();
    if (!OPTIONS.has(name)) {
      const text = `unknown option "${key.slice(0, 100)}" of external tables: use one of ${[...OPTIONS].join(', ')}`;
      throw new AlmanacError('invalid_arguments', text);
    }
    options[name] = name === 'format' ? value.toLowerCase() : value;
  }
  const { format = '', delimiter = ',' } = options;
  if (!(EXTERNAL_LOCATION in options)) {
    throw new AlmanacError('invalid_arguments', 'an external table needs a location');
  }
  if (format === 'orc') throw new AlmanacError('unsupported', 'Not supported: ORC files: use parquet, csv or json');
  if (!FORMATS.has(format)) {
    throw new AlmanacError('invalid_arguments', 'the format of an external table is parquet, csv or json');
  }
  if (!/^[\x20-\x7e\t]$/.test(delimiter)) {
    throw new AlmanacError('invalid_arguments', 'delimiter is one character of ASCII');
  }
  return options;
}

async function create(context: StatementContext, cursor: Cursor, definition: Definition): Promise<number> {
  const { name, ifNotExists, options } = definition;
  const specs = withTimeIndex(context, definition, await specsOf(context, cursor, definition));
  return createStored(context, name, { columns: specs, primaryKey: [], options, regions: 1, ifNotExists });
}

/** Returns the columns, of which those of files are read from the files that are there now. */
async function specsOf(context: StatementContext, cursor: Cursor, definition: Definition): Promise<ColumnSpec[]> {
  const { columns, options } = definition;
  const { deps, session } = context;
  const root = namedFiles(context);
  return deps.connections.use(async (connection) => {
    const files = await filesOf(options, root, connection);
    if (columns !== undefined) return columns.map((column) => columnSpec(column, 'field', cursor, session.zone));
    const format = options['format'] as ExternalFormat;
    const found = await inferredColumns(connection, format, files, options['delimiter'], context.call.signal);
    return found.map(({ name, type }) => fieldSpec(name, type));
  });
}

function withTimeIndex(
  { deps }: StatementContext,
  { timeIndex }: Definition,
  specs: readonly ColumnSpec[],
): ColumnSpec[] {
  const name = timeIndex ?? TIME_COLUMNS[deps.names.systemSource().catalogName];
  const time = specs.find((spec) => spec.name === name);
  if (time === undefined) {
    if (timeIndex !== undefined) throw new AlmanacError('invalid_arguments', `Column not found: ${timeIndex}`);
    const added = { ...fieldSpec(name, 'TimestampMillisecond'), kind: 'time', nullable: false };
    return [...specs, { ...added, defaultSql: "'1970-01-01 00:00:00+0000'" }];
  }
  return specs.map((spec) => (spec === time ? { ...spec, kind: 'time', nullable: false } : spec));
}

function fieldSpec(name: string, type: string): ColumnSpec {
  return { name, type, kind: 'field', nullable: true, defaultSql: '', comment: '', indexes: [] };
}
