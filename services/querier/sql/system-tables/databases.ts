import type { Column, Table } from '#shared/contracts/gen/common';
import type { RegionSize } from '#shared/contracts/gen/metadata';
import { dataType } from '#shared/schema/data-type';
import { shownTypeName } from '#shared/schema/json-hints';
import { withoutPartitions } from '#shared/schema/partitions';

import { viewColumns } from './view-columns.js';
import { engineOf, optionLines } from './table-text.js';
import {
  readableDatabases,
  readableTables,
  readableViews,
  regionSizes,
  systemTable,
  tablesOf,
  unlessDropped,
  type SystemRow,
  type SystemTable,
  type SystemTableSource,
} from './system-table.js';

const DATABASE = 'information_schema';
const COLLATION = 'utf8_bin';
/** Version of the row format, which MySQL's clients expect. */
const ROW_VERSION = 11;
/** Length limit of texts in bytes that clients are shown. */
const TEXT_BYTES = 2_147_483_647;

const PRECISION: Readonly<Record<string, number>> = {
  ...{ Int8: 3, UInt8: 3, Int16: 5, UInt16: 5, Int32: 10, UInt32: 10, Int64: 19, UInt64: 20, Float32: 12, Float64: 22 },
};
const TIME_DIGITS: Readonly<Record<string, number>> = { s: 0, ms: 3, us: 6, ns: 9 };
const SEMANTIC: Readonly<Record<string, string>> = { tag: 'TAG', field: 'FIELD', time: 'TIMESTAMP' };
const KEYS: Readonly<Record<string, string>> = { tag: 'PRI', field: '', time: 'TIME INDEX' };

/** Tables of databases, tables, columns and views. `all` returns the system tables themselves, which are listed too. */
export function databaseTables(all: () => Iterable<SystemTable>): SystemTable[] {
  return [
    systemTable(
      DATABASE,
      'schemata',
      'catalog_name, schema_name, default_character_set_name, default_collation_name, sql_path?, options? String',
      schemata,
    ),
    systemTable(
      DATABASE,
      'tables',
      'table_catalog, table_schema, table_name, table_type String, table_id? UInt32, data_length?, max_data_length?, ' +
        'index_length?, max_index_length?, avg_row_length? UInt64, engine? String, version? UInt64, row_format? String, ' +
        'table_rows?, data_free?, auto_increment? UInt64, create_time?, update_time?, check_time? TimestampSecond, ' +
        'table_collation? String, checksum? UInt64, create_options?, table_comment?, temporary? String',
      (source) => tables(source, all()),
    ),
    systemTable(
      DATABASE,
      'columns',
      'table_catalog, table_schema, table_name, column_name String, ordinal_position, character_maximum_length?, ' +
        'character_octet_length?, numeric_precision?, numeric_scale?, datetime_precision? Int64, character_set_name?, ' +
        'collation_name?, column_key, extra, privileges, generation_expression, greptime_data_type, data_type, ' +
        'semantic_type, column_default?, is_nullable, column_type, column_comment? String, srs_id? Int64',
      (source) => columns(source, all()),
    ),
    systemTable(
      DATABASE,
      'views',
      'table_catalog, table_schema, table_name, view_definition, check_option?, is_updatable?, definer?, security_type?, ' +
        'character_set_client?, collation_connection? String',
      views,
    ),
  ];
}

async function* schemata(source: SystemTableSource): AsyncIterable<SystemRow> {
  const row = (name: string, options: string): SystemRow => ({
    catalog_name: source.catalogName,
    schema_name: name,
    default_character_set_name: 'utf8',
    default_collation_name: COLLATION,
    options,
  });
  yield row(DATABASE, '');
  for (const { name, options } of await readableDatabases(source)) yield row(name, optionLines(options));
}

async function* views(source: SystemTableSource): AsyncIterable<SystemRow> {
  for await (const { database, name, statement } of readableViews(source)) {
    yield {
      table_catalog: source.catalogName,
      table_schema: database,
      table_name: name,
      view_definition: statement,
      is_updatable: 'NO',
      character_set_client: 'utf8',
      collation_connection: COLLATION,
    };
  }
}

async function* tables(source: SystemTableSource, system: Iterable<SystemTable>): AsyncIterable<SystemRow> {
  const table_catalog = source.catalogName;
  const common = { table_catalog, row_format: 'Fixed', version: ROW_VERSION, table_collation: COLLATION };
  for (const { database, name } of system) {
    yield { ...common, table_schema: database, table_name: name, table_type: 'LOCAL TEMPORARY', temporary: 'Y' };
  }
  for (const { name: database } of await readableDatabases(source)) {
    const sizes = await regionSizes(database, source);
    const stored = await tablesOf(database, source);
    for (const table of stored) {
      yield {
        ...common,
        table_schema: database,
        ...describeTable(table, sizes),
        table_type: 'BASE TABLE',
        temporary: 'N',
      };
    }
    const names = new Set(stored.map(({ name }) => name));
    for (const name of await unlessDropped(source.metrics.names(database, source.call))) {
      if (names.has(name)) continue;
      const metric = { table_schema: database, table_name: name, engine: 'metric', create_options: '' };
      yield { ...common, ...metric, table_type: 'BASE TABLE', temporary: 'N' };
    }
    for (const { name, createdMs } of source.catalog.views.ofDatabase(database)) {
      const seconds = Math.floor(createdMs / 1000);
      const times = { create_time: seconds, update_time: seconds };
      yield { ...common, ...times, table_schema: database, table_name: name, table_type: 'VIEW', temporary: 'N' };
    }
  }
}

function describeTable(table: Table, sizes: ReadonlyMap<number, RegionSize>): SystemRow {
  const files = table.regions.map(({ regionId }) => sizes.get(regionId));
  const rows = files.reduce((sum, size) => sum + (size?.rows ?? 0), 0);
  const bytes = files.reduce((sum, size) => sum + (size?.bytes ?? 0), 0);
  const seconds = Math.floor(table.createdMs / 1000);
  return {
    table_name: table.name,
    table_id: table.tableId,
    engine: engineOf(table),
    data_length: bytes,
    max_data_length: 0,
    index_length: 0,
    max_index_length: 0,
    avg_row_length: rows === 0 ? 0 : Math.round(bytes / rows),
    table_rows: rows,
    data_free: 0,
    auto_increment: 0,
    checksum: 0,
    create_time: seconds,
    update_time: seconds,
    create_options: optionLines(withoutPartitions(table.options)).trimEnd().replaceAll('\n', ' '),
    table_comment: table.options['comment'] ?? null,
  };
}

async function* columns(source: SystemTableSource, system: Iterable<SystemTable>): AsyncIterable<SystemRow> {
  const rowsOf = (table: Pick<Table, 'database' | 'name' | 'columns'>): SystemRow[] =>
    table.columns.map((column, i) => ({
      table_catalog: source.catalogName,
      table_schema: table.database,
      table_name: table.name,
      ordinal_position: i + 1,
      ...describeColumn(column),
    }));
  for (const table of system) yield* rowsOf(table);
  for await (const table of readableTables(source)) yield* rowsOf(table);
  for await (const view of readableViews(source)) yield* rowsOf({ ...view, columns: viewColumns(view) });
}

function describeColumn({ name, type, kind, nullable, defaultSql, comment }: Column): SystemRow {
  const sql = dataType(shownTypeName(type)).sql.toLowerCase();
  return {
    ...describeType(type),
    column_name: name,
    column_key: KEYS[kind] ?? '',
    extra: '',
    privileges: 'select,insert',
    generation_expression: '',
    greptime_data_type: shownTypeName(type),
    data_type: sql,
    semantic_type: SEMANTIC[kind] ?? 'FIELD',
    column_default: defaultSql === '' ? null : defaultSql,
    is_nullable: nullable ? 'YES' : 'NO',
    column_type: sql,
    column_comment: comment === '' ? null : comment,
  };
}

/** Returns lengths, precisions and character set of the values of a type, as far as it has them. */
function describeType(type: string): SystemRow {
  if (type === 'String') {
    return {
      ...{ character_maximum_length: TEXT_BYTES, character_octet_length: TEXT_BYTES },
      ...{ character_set_name: 'utf8', collation_name: COLLATION },
    };
  }
  const decimal = /^Decimal\((\d+), (\d+)\)$/.exec(type);
  if (decimal !== null) return { numeric_precision: Number(decimal[1]), numeric_scale: Number(decimal[2]) };
  const { timeUnit } = dataType(type);
  if (timeUnit !== undefined) return { datetime_precision: TIME_DIGITS[timeUnit] };
  if (!(type in PRECISION)) return {};
  return { numeric_precision: PRECISION[type], numeric_scale: type.startsWith('Float') ? null : 0 };
}
