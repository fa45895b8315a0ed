import type { Table } from '#shared/contracts/gen/common';
import { quoteName } from '#shared/duckdb/quote';
import { AlmanacError } from '#shared/errors/almanac-error';

import { conditionSql, readWhere, type InfluxCondition } from './conditions.js';
import type { InfluxCursor } from './influxql.js';
import { nameTest, type NameTest } from './name-test.js';
import type { InfluxSeries, InfluxSession, InfluxStatement } from './session.js';
import { measurements, readSources, type InfluxSource } from './sources.js';

/** Words of InfluxDB for the types of fields; others are shown by their own names. */
const TYPE_WORDS: Readonly<Record<string, string>> = {
  Int64: 'integer',
  UInt64: 'unsigned',
  Float64: 'float',
  String: 'string',
  Boolean: 'boolean',
};

/** Largest number of values of tags in a result. */
const TAG_VALUES_MAX = 100_000;

type Page = <T>(rows: readonly T[]) => readonly T[];

/** `SHOW MEASUREMENTS [ON db] [WITH MEASUREMENT = n] [WHERE ..] [LIMIT n] [OFFSET n]`. */
export function showMeasurements(cursor: InfluxCursor): InfluxStatement['run'] {
  const database = onDatabase(cursor);
  const isShown = cursor.accept('WITH', 'MEASUREMENT')
    ? nameTest(cursor.condition(['=~', '!~', '!=', '=']))
    : (): boolean => true;
  const where = readWhere(cursor);
  const page = readPage(cursor);
  return async (session) => {
    const tables = await measurements(session, database, [{ database: undefined, isShown }]);
    const shown: Table[] = [];
    for (const table of tables) {
      if (where === undefined || (await hasRows(session, table, where))) shown.push(table);
    }
    const values = page(shown.map(({ name }) => [name]));
    return values.length === 0 ? [] : [{ name: 'measurements', columns: ['name'], values }];
  };
}

/** `SHOW TAG KEYS [ON db] [FROM n, ..] [WHERE ..] [LIMIT n] [OFFSET n]`. */
export function showTagKeys(cursor: InfluxCursor): InfluxStatement['run'] {
  return showBySource(cursor, ['tagKey'], readWhere, async (session, table, where) => {
    const keys = tagKeys(table);
    return (where === undefined ? keys : await usedKeys(session, table, keys, where)).map((key) => [key]);
  });
}

/** `SHOW FIELD KEYS [ON db] [FROM n, ..] [LIMIT n] [OFFSET n]`. */
export function showFieldKeys(cursor: InfluxCursor): InfluxStatement['run'] {
  return showBySource(
    cursor,
    ['fieldKey', 'fieldType'],
    () => undefined,
    (_session, { columns }) =>
      columns
        .filter(({ kind }) => kind === 'field')
        .map(({ name, type }) => [name, TYPE_WORDS[type] ?? type])
        .sort(([a], [b]) => (a < b ? -1 : 1)),
  );
}

/** `SHOW TAG VALUES [ON db] [FROM n, ..] WITH KEY = k [WHERE ..] [LIMIT n] [OFFSET n]`. */
export function showTagValues(cursor: InfluxCursor): InfluxStatement['run'] {
  const readRest = (): { isKey: NameTest; where: InfluxCondition | undefined } => {
    cursor.expect('WITH');
    cursor.expect('KEY');
    return { isKey: readKeys(cursor), where: readWhere(cursor) };
  };
  return showBySource(cursor, ['key', 'value'], readRest, async (session, table, { isKey, where }) => {
    const rows: string[][] = [];
    for (const key of tagKeys(table).filter(isKey)) {
      const values = await tagValues(session, table, key, where);
      for (const value of values) rows.push([key, value]);
    }
    return rows;
  });
}

/** Reads the keys of `WITH KEY`: `= k`, `!= k`, `=~ /regex/`, `!~ /regex/` or `IN (k, ..)`. */
function readKeys(cursor: InfluxCursor): NameTest {
  if (!cursor.accept('IN')) return nameTest(cursor.condition(['=~', '!~', '!=', '=']));
  if (!cursor.acceptSymbol('(')) throw cursor.unexpected('(');
  const keys = new Set<string>();
  do keys.add(cursor.name());
  while (cursor.acceptSymbol(','));
  if (!cursor.acceptSymbol(')')) throw cursor.unexpected(')');
  return (key) => keys.has(key);
}

const ALL_SOURCES: readonly InfluxSource[] = [{ database: undefined, isShown: () => true }];

/** Makes a statement that returns a series for each measurement. @param readRest reads what follows the sources. */
function showBySource<R>(
  cursor: InfluxCursor,
  columns: readonly string[],
  readRest: (cursor: InfluxCursor) => R,
  rowsOf: (session: InfluxSession, table: Table, rest: R) => Promise<readonly string[][]> | readonly string[][],
): InfluxStatement['run'] {
  const database = onDatabase(cursor);
  const sources = cursor.accept('FROM') ? readSources(cursor) : ALL_SOURCES;
  const rest = readRest(cursor);
  const page = readPage(cursor);
  return async (session) => {
    const series: InfluxSeries[] = [];
    for (const table of await measurements(session, database, sources)) {
      const values = page(await rowsOf(session, table, rest));
      session.room.reserve(values.length, columns.length);
      if (values.length > 0) series.push({ name: table.name, columns, values });
    }
    return series;
  };
}

function tagKeys({ columns }: Table): string[] {
  return columns
    .filter(({ kind }) => kind === 'tag')
    .map(({ name }) => name)
    .sort();
}

function whereSql({ nowMs }: InfluxSession, table: Table, where: InfluxCondition): string {
  return `FROM ${quoteName(table.name)} WHERE ${conditionSql(where, { table, nowMs })}`;
}

async function hasRows(session: InfluxSession, table: Table, where: InfluxCondition): Promise<boolean> {
  return (await session.execute(`SELECT 1 ${whereSql(session, table, where)} LIMIT 1`, table.database)).length > 0;
}

/** Returns the keys that rows with the condition have values of. */
async function usedKeys(
  session: InfluxSession,
  table: Table,
  keys: readonly string[],
  where: InfluxCondition,
): Promise<string[]> {
  if (keys.length === 0) return [];
  const counts = keys.map((key) => `count(${quoteName(key)})`).join(', ');
  const [row] = await session.execute(`SELECT ${counts} ${whereSql(session, table, where)}`, table.database);
  return keys.filter((_key, i) => Number(row[i]) > 0);
}

async function tagValues(
  session: InfluxSession,
  table: Table,
  key: string,
  where: InfluxCondition | undefined,
): Promise<string[]> {
  const tag = quoteName(key);
  const from = where === undefined ? `FROM ${quoteName(table.name)} WHERE true` : whereSql(session, table, where);
  const sql = `SELECT DISTINCT ${tag} ${from} AND ${tag} IS NOT NULL ORDER BY 1 LIMIT ${TAG_VALUES_MAX + 1}`;
  const rows = await session.execute(sql, table.database);
  if (rows.length > TAG_VALUES_MAX) {
    throw new AlmanacError('invalid_arguments', `"${key}" of "${table.name}" has more than ${TAG_VALUES_MAX} values`);
  }
  return rows.map(([value]) => value as string);
}

function onDatabase(cursor: InfluxCursor): string | undefined {
  return cursor.accept('ON') ? cursor.name() : undefined;
}

function readPage(cursor: InfluxCursor): Page {
  const limit = cursor.accept('LIMIT') ? cursor.number() : 0;
  const offset = cursor.accept('OFFSET') ? cursor.number() : 0;
  return (rows) => rows.slice(offset, limit === 0 ? undefined : offset + limit);
}
