import { RE2JS } from 're2js';

import type { Table } from '#shared/contracts/gen/common';
import { requireAccess } from '#shared/contracts/rights';
import { AlmanacError } from '#shared/errors/almanac-error';
import { PHYSICAL_METRIC_TABLE } from '#shared/schema/metric-table';

import type { InfluxCursor, NameCondition } from './influxql.js';
import { databaseOf, type InfluxSeries, type InfluxSession, type InfluxStatement } from './session.js';

type NameTest = (name: string) => boolean;

/** Words of InfluxDB for the types of fields; others are shown by their own names. */
const TYPE_WORDS: Readonly<Record<string, string>> = {
  Int64: 'integer',
  UInt64: 'unsigned',
  Float64: 'float',
  String: 'string',
  Boolean: 'boolean',
};

const PATTERN_CHARACTERS_MAX = 1_000;

/** `SHOW MEASUREMENTS [ON db] [WITH MEASUREMENT = n] [LIMIT n] [OFFSET n]`. */
export function showMeasurements(cursor: InfluxCursor): InfluxStatement['run'] {
  const database = onDatabase(cursor);
  const isShown = cursor.accept('WITH', 'MEASUREMENT')
    ? nameTest(cursor.condition(['=~', '!~', '!=', '=']))
    : (): boolean => true;
  const page = readPage(cursor);
  return async (session) => {
    const tables = await measurements(session, database, isShown);
    const values = page(tables.map(({ name }) => [name]));
    return values.length === 0 ? [] : [{ name: 'measurements', columns: ['name'], values }];
  };
}

/** `SHOW TAG KEYS [ON db] [FROM n, ..] [LIMIT n] [OFFSET n]`. */
export function showTagKeys(cursor: InfluxCursor): InfluxStatement['run'] {
  return showColumns(cursor, ['tagKey'], ({ columns }) =>
    columns.filter(({ kind }) => kind === 'tag').map(({ name }) => [name]),
  );
}

/** `SHOW FIELD KEYS [ON db] [FROM n, ..] [LIMIT n] [OFFSET n]`. */
export function showFieldKeys(cursor: InfluxCursor): InfluxStatement['run'] {
  return showColumns(cursor, ['fieldKey', 'fieldType'], ({ columns }) =>
    columns.filter(({ kind }) => kind === 'field').map(({ name, type }) => [name, TYPE_WORDS[type] ?? type]),
  );
}

function showColumns(
  cursor: InfluxCursor,
  columns: readonly string[],
  rowsOf: (table: Table) => readonly (readonly string[])[],
): InfluxStatement['run'] {
  const database = onDatabase(cursor);
  const isShown = cursor.accept('FROM') ? readSources(cursor) : (): boolean => true;
  const page = readPage(cursor);
  return async (session) => {
    const tables = await measurements(session, database, isShown);
    const series = tables.map((table) => {
      const rows = [...rowsOf(table)].sort(([a], [b]) => (a < b ? -1 : 1));
      return { name: table.name, columns, values: page(rows) };
    });
    return series.filter(({ values }) => values.length > 0) satisfies InfluxSeries[];
  };
}

function onDatabase(cursor: InfluxCursor): string | undefined {
  return cursor.accept('ON') ? cursor.name() : undefined;
}

/** Reads measurements, each a name, a regular expression, or either after `database.policy.`. */
function readSources(cursor: InfluxCursor): NameTest {
  const tests: NameTest[] = [];
  do {
    let condition = cursor.condition([]);
    while (cursor.acceptSymbol('.')) {
      while (cursor.acceptSymbol('.'));
      condition = cursor.condition([]);
    }
    tests.push(nameTest(condition));
  } while (cursor.acceptSymbol(','));
  return (name) => tests.some((test) => test(name));
}

function nameTest({ isPattern, isNegative, value }: NameCondition): NameTest {
  if (!isPattern) return (name) => (name === value) !== isNegative;
  const expression = compiled(value);
  return (name) => expression.matcher(name).find() !== isNegative;
}

/** Counted repetitions are refused: nested ones compile to expressions of any size. */
function compiled(pattern: string): RE2JS {
  if (pattern.length > PATTERN_CHARACTERS_MAX || /\{\d/.test(pattern)) {
    throw new AlmanacError('invalid_syntax', 'error parsing regexp: too long, or a repetition with a count');
  }
  try {
    return RE2JS.compile(pattern);
  } catch (error) {
    throw new AlmanacError('invalid_syntax', (error as Error).message, { cause: error });
  }
}

function readPage(cursor: InfluxCursor): <T>(rows: readonly T[]) => readonly T[] {
  const limit = cursor.accept('LIMIT') ? cursor.number() : 0;
  const offset = cursor.accept('OFFSET') ? cursor.number() : 0;
  return (rows) => rows.slice(offset, limit === 0 ? undefined : offset + limit);
}

/** Returns the tables of a database by name, without the one that holds the rows of metrics. */
async function measurements(
  session: InfluxSession,
  named: string | undefined,
  isShown: NameTest,
): Promise<readonly Table[]> {
  const database = await databaseOf(session, named ?? session.database);
  requireAccess(session.call, 'read', database.name);
  const tables = await session.catalog.tables(database.name, session.call);
  return tables
    .filter(({ name, options }) => !(PHYSICAL_METRIC_TABLE in options) && isShown(name))
    .sort((a, b) => (a.name < b.name ? -1 : 1));
}
