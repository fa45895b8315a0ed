import type { Column, Database, Table } from '#shared/contracts/gen/common';
import type {
  ColumnSpec,
  CreateTableRequest,
  CreateTableResponse,
  DropTableRequest,
  DropTableResponse,
  EnsureTable,
  EnsureTablesRequest,
  EnsureTablesResponse,
  GetTableRequest,
  ListTablesRequest,
  ListTablesResponse,
} from '#shared/contracts/gen/metadata';
import { AlmanacError } from '#shared/errors/almanac-error';
import { invariant } from '#shared/errors/invariant';
import { dataType, isTimestamp } from '#shared/schema/data-type';
import { isForeignTo, PHYSICAL_METRIC_TABLE } from '#shared/schema/metric-table';
import { checkColumnName, checkTableName, COLUMNS_MAX } from '#shared/schema/names';
import { newTableOptions } from '#shared/schema/version-options';
import { droppedTable, tableChanged, tableDropped, type MetadataCatalog } from '../catalog.js';
import type { Cluster } from '../cluster.js';
import { Placement } from '../placement.js';
import { checkNoView } from './views.js';

const REGIONS_MAX = 256;

/** Defaults of new tables. */
export interface TableDefaults {
  /** Number of regions if the request has none. */
  readonly regions: number;
  /** Largest number of tables of a database. */
  readonly tablesMax: number;
  /** Largest number of columns of a table. */
  readonly columnsMax: number;
}

/** Defaults of new tables, and how refusals are counted. */
export interface TableRules extends TableDefaults {
  readonly onRefused: (limit: 'tables' | 'columns') => void;
}

type ColumnLimit = Pick<TableRules, 'columnsMax' | 'onRefused'>;

/**
 * Creates a table.
 * @throws `database_not_found`, `table_already_exists`, `invalid_arguments`.
 */
export function createTable(
  catalog: MetadataCatalog,
  request: CreateTableRequest,
  defaults: TableRules,
): CreateTableResponse {
  checkTableName(request.name);
  checkNewColumns(request.columns, defaults);
  return catalog.change((record) => {
    const database = catalog.database(request.database);
    const existing = catalog.tables.find(database, request.name);
    if (existing !== undefined) {
      if (request.ifNotExists) return { table: existing, created: false, catalogVersion: catalog.version };
      throw new AlmanacError('table_already_exists', `table "${request.name}" already exists`, {
        details: { database: request.database, table: request.name },
      });
    }
    checkNoView(catalog, database, request.name);
    const regions = request.regions === 0 ? defaults.regions : request.regions;
    if (regions > REGIONS_MAX) {
      throw new AlmanacError('invalid_arguments', `a table has at most ${REGIONS_MAX} regions, not ${regions}`);
    }
    const options = newTableOptions(request.options, database.options);
    new TableRoom(catalog, database, defaults).take();
    const table = insertTable(catalog, database, { ...request, options, regions });
    record(tableChanged(table));
    return { table, created: true, catalogVersion: catalog.version };
  });
}

/**
 * Creates missing tables and adds missing columns; the first type of a column wins.
 * @throws `database_not_found`, `table_not_found` if creation is disabled, `invalid_arguments`.
 */
export function ensureTables(
  catalog: MetadataCatalog,
  request: EnsureTablesRequest,
  defaults: TableRules,
): EnsureTablesResponse {
  return catalog.change((record) => {
    const database = catalog.database(request.database);
    const room = new TableRoom(catalog, database, defaults);
    const tables = request.tables.map((wanted) => {
      const existing = catalog.tables.find(database, wanted.name);
      if (existing === undefined && !request.create) throw notCreated(wanted.name);
      if (existing === undefined) room.take();
      const table =
        existing === undefined
          ? createFromSpec(catalog, database, wanted, defaults)
          : widen(catalog, existing, wanted, defaults);
      if (table !== existing) record(tableChanged(table));
      return table;
    });
    return { tables, catalogVersion: catalog.version };
  });
}

/**
 * Returns a table by id, or by name if the id is zero.
 * @throws `database_not_found`, `table_not_found`.
 */
export function getTable(catalog: MetadataCatalog, request: GetTableRequest): Table {
  if (request.tableId === 0) return catalog.table(request.database, request.name);
  const table = catalog.tables.findById(request.tableId);
  if (table === undefined) throw new AlmanacError('table_not_found', `table ${request.tableId} not found`);
  return table;
}

/**
 * Returns the tables of a database.
 * @throws `database_not_found`.
 */
export function listTables(catalog: MetadataCatalog, request: ListTablesRequest): ListTablesResponse {
  return { tables: catalog.tables.list(catalog.database(request.database)) };
}

/**
 * Drops a table. Its files become garbage.
 * @throws `database_not_found`; `table_not_found` unless `ifExists`.
 */
export function dropTable({ catalog, openings }: Cluster, request: DropTableRequest): DropTableResponse {
  const answer = catalog.change((record) => {
    const table = catalog.tables.find(catalog.database(request.database), request.name);
    if (table === undefined) {
      if (request.ifExists) return { dropped: false, catalogVersion: catalog.version };
      throw new AlmanacError('table_not_found', `Table not found: ${request.database}.${request.name}`);
    }
    catalog.segments.discardTable(table.tableId, catalog.clock.nowMs());
    catalog.tables.delete(table.tableId);
    record(tableDropped(table));
    return { dropped: true, catalogVersion: catalog.version, table: droppedTable(table) };
  });
  if (answer.table !== undefined) openings.dropped([answer.table]);
  return answer;
}

function createFromSpec(
  catalog: MetadataCatalog,
  database: Database,
  wanted: EnsureTable,
  defaults: TableRules,
): Table {
  checkTableName(wanted.name);
  if (catalog.views.find(database, wanted.name) !== undefined) {
    const text = `"${wanted.name}" of database "${database.name}" is a view, to which no rows can be written`;
    throw new AlmanacError('invalid_arguments', text);
  }
  checkLabels(database.name, wanted, wanted.columns, defaults);
  checkNewColumns(wanted.columns, defaults);
  const primaryKey = wanted.columns.filter((column) => column.kind === 'tag').map((column) => column.name);
  const { name, columns } = wanted;
  const options = newTableOptions(wanted.options, database.options, wanted.isDefaultMergeMode);
  return insertTable(catalog, database, { name, columns, options, primaryKey, regions: defaults.regions });
}

/** Adds missing columns. Existing columns keep their types, whatever type was requested. */
function widen(catalog: MetadataCatalog, table: Table, wanted: EnsureTable, rules: TableRules): Table {
  // The writer does not know the table yet; it will leave its rows out once it does.
  if (isForeignTo(table, wanted.options)) return table;
  const { database } = table;
  const names = new Set(table.columns.map((column) => column.name));
  const missing = wanted.columns.filter((column) => !names.has(column.name) && column.kind !== 'time');
  if (missing.length === 0) return table;
  const widened = [...table.columns, ...missing];
  checkLabels(database, table, widened, rules);
  checkColumns(widened, rules);
  for (const column of missing) catalog.tables.addColumn(table.tableId, { ...column, nullable: true });
  const newTags = missing.filter((column) => column.kind === 'tag').map((column) => column.name);
  catalog.tables.bumpSchema(table.tableId, [...table.primaryKey, ...newTags]);
  return existingTable(catalog, table.tableId);
}

interface TableSpec {
  readonly name: string;
  readonly columns: readonly ColumnSpec[];
  readonly options: Readonly<Record<string, string>>;
  readonly primaryKey: readonly string[];
  readonly regions: number;
}

/** Counts the tables of a database once a request, which may create thousands. */
class TableRoom {
  readonly #catalog: MetadataCatalog;
  readonly #database: Database;
  readonly #rules: TableRules;
  #left: number | undefined = undefined;

  constructor(catalog: MetadataCatalog, database: Database, rules: TableRules) {
    this.#catalog = catalog;
    this.#database = database;
    this.#rules = rules;
  }

  /** @throws `invalid_arguments` if there is no room for another table. */
  take(): void {
    const { tablesMax, onRefused } = this.#rules;
    this.#left ??= tablesMax - this.#catalog.tables.count(this.#database);
    if (this.#left-- > 0) return;
    onRefused('tables');
    const limit = `the ${tablesMax} tables that limits.max_tables_per_database allows`;
    throw new AlmanacError('invalid_arguments', `database "${this.#database.name}" has ${limit}`);
  }
}

function insertTable(catalog: MetadataCatalog, database: Database, spec: TableSpec): Table {
  const { name, options, primaryKey } = spec;
  const createdMs = catalog.clock.nowMs();
  const tableId = catalog.tables.insert({ database, name, options, primaryKey, createdMs });
  for (const column of spec.columns) catalog.tables.addColumn(tableId, column);
  for (const [index, nodeId] of new Placement(catalog).spread(spec.regions).entries()) {
    catalog.regions.insert(tableId, index, nodeId);
  }
  return existingTable(catalog, tableId);
}

/** Returns a table that must exist. */
export function existingTable(catalog: MetadataCatalog, tableId: number): Table {
  const table = catalog.tables.findById(tableId);
  invariant(table !== undefined, 'a table that was just written is missing');
  return table;
}

/**
 * Checks the columns of a new or altered table.
 * @throws `invalid_arguments`.
 */
export function checkNewColumns(columns: readonly (ColumnSpec | Column)[], limit: ColumnLimit): void {
  const times = columns.filter((column) => column.kind === 'time');
  if (times.length !== 1 || !isTimestamp(times[0].type)) {
    throw new AlmanacError('invalid_arguments', 'a table needs exactly one time index column of a timestamp type');
  }
  checkColumns(columns, limit);
}

/** The engine folds letter case, so columns must not differ by case alone. */
function checkColumns(columns: readonly (ColumnSpec | Column)[], { columnsMax, onRefused }: ColumnLimit): void {
  if (columns.length > columnsMax) {
    onRefused('columns');
    // The configuration cannot allow more than the largest number.
    const key = columnsMax < COLUMNS_MAX ? ' (limits.max_columns_per_table)' : '';
    const text = `a table has at most ${columnsMax} columns, not ${columns.length}${key}`;
    throw new AlmanacError('invalid_arguments', text);
  }
  const folded = new Map<string, string>();
  for (const { name, type } of columns) {
    checkColumnName(name);
    dataType(type);
    const other = folded.get(name.toLowerCase());
    if (other === name) throw new AlmanacError('invalid_arguments', `column "${name}" is named twice`);
    if (other !== undefined) {
      throw new AlmanacError('invalid_arguments', `columns "${other}" and "${name}" differ only by letter case`);
    }
    folded.set(name.toLowerCase(), name);
  }
}

/**
 * Checks the number of labels, with a message in terms of metrics: their senders do not know columns.
 * @throws `invalid_arguments` if there are too many.
 */
function checkLabels(
  database: string,
  { name, options }: Pick<EnsureTable, 'name' | 'options'>,
  columns: readonly { readonly kind: string }[],
  { columnsMax, onRefused }: ColumnLimit,
): void {
  if (columns.length <= columnsMax || options[PHYSICAL_METRIC_TABLE] !== 'true') return;
  onRefused('columns');
  const count = columns.filter(({ kind }) => kind === 'tag').length;
  const most = columnsMax - (columns.length - count);
  const text =
    `the metrics of database "${database}" would have ${count} label names, but its table "${name}" holds ${most} at most ` +
    `(${columnsMax} columns): drop labels by relabelling, or write to another database (db) or another physical table ` +
    '(physical_table)';
  throw new AlmanacError('invalid_arguments', text);
}

function notCreated(name: string): AlmanacError {
  const text = `Table \`${name}\` does not exist, and \`auto_create_table\` hint is disabled`;
  return new AlmanacError('table_not_found', text);
}
