import type { Column, ColumnIndex, Database, FormerType, RegionInfo, Table } from '#shared/contracts/gen/common';
import type { CatalogConnection } from './open.js';

interface TableRow {
  table_id: bigint;
  database_id: bigint;
  database: string;
  name: string;
  schema_version: bigint;
  options: string;
  database_options: string;
  primary_key: string;
  created_ms: bigint;
}

interface ColumnRow {
  column_id: bigint;
  name: string;
  type: string;
  kind: string;
  nullable: bigint;
  default_sql: string;
  comment: string;
  backfill_sql: string;
  former_types: string;
  indexes: string;
}

interface RegionRow {
  region_id: bigint;
  position: bigint;
  epoch: bigint;
  node_id: bigint;
  ids_since_epoch: bigint;
}

/** A table to be inserted. */
export interface NewTable {
  readonly database: Database;
  readonly name: string;
  readonly options: Readonly<Record<string, string>>;
  readonly primaryKey: readonly string[];
  readonly createdMs: number;
}

const SELECT_TABLE = `
  SELECT t.table_id, t.database_id, d.name AS database, t.name, t.schema_version, t.options,
    d.options AS database_options, t.primary_key, t.created_ms
  FROM tables t JOIN databases d USING (database_id)`;

/** SQL of the `tables` and `columns` tables, and of a table's `regions`. */
export class TableStore {
  readonly #byName;
  readonly #byId;
  readonly #ofDatabase;
  readonly #count;
  readonly #columns;
  readonly #regions;
  readonly #insert;
  readonly #insertColumn;
  readonly #takeColumnId;
  readonly #bump;
  readonly #delete;
  readonly #alter;
  readonly #setColumn;
  readonly #deleteColumn;

  constructor(connection: CatalogConnection) {
    this.#byName = connection.prepare<[number, string], TableRow>(
      `${SELECT_TABLE} WHERE t.database_id = ? AND t.name = ?`,
    );
    this.#byId = connection.prepare<[number], TableRow>(`${SELECT_TABLE} WHERE t.table_id = ?`);
    this.#ofDatabase = connection.prepare<[number], TableRow>(
      `${SELECT_TABLE} WHERE t.database_id = ? ORDER BY t.name`,
    );
    this.#count = connection.prepare<[number], { count: bigint }>(
      'SELECT count(*) AS count FROM tables WHERE database_id = ?',
    );
    this.#columns = connection.prepare<[number], ColumnRow>(
      'SELECT * FROM columns WHERE table_id = ? ORDER BY position',
    );
    this.#regions = connection.prepare<[number], RegionRow>(
      `SELECT region_id, position, epoch, node_id, ids_since_epoch FROM regions WHERE table_id = ? ORDER BY position`,
    );
    this.#insert = connection.prepare<[number, string, string, string, number]>(
      `INSERT INTO tables (database_id, name, schema_version, options, primary_key, created_ms, next_column_id)
       VALUES (?, ?, 1, ?, ?, ?, 1)`,
    );
    this.#insertColumn = connection.prepare(
      `INSERT INTO columns (table_id, column_id, position, name, type, kind, nullable, default_sql, comment,
         backfill_sql, indexes)
       VALUES (@tableId, @id, @id, @name, @type, @kind, @nullable, @defaultSql, @comment, @backfillSql, @indexes)`,
    );
    this.#takeColumnId = connection.prepare<[number], { id: bigint }>(
      'UPDATE tables SET next_column_id = next_column_id + 1 WHERE table_id = ? RETURNING next_column_id - 1 AS id',
    );
    this.#bump = connection.prepare<[string, number]>(
      'UPDATE tables SET schema_version = schema_version + 1, primary_key = ? WHERE table_id = ?',
    );
    this.#alter = connection.prepare(
      `UPDATE tables SET name = @name, options = @options, primary_key = @primaryKey,
         schema_version = schema_version + 1
       WHERE table_id = @tableId`,
    );
    this.#setColumn = connection.prepare(
      `UPDATE columns SET name = @name, position = @position, type = @type, nullable = @nullable,
         default_sql = @defaultSql, comment = @comment, former_types = @formerTypes, indexes = @indexes
       WHERE table_id = @tableId AND column_id = @id`,
    );
    this.#deleteColumn = connection.prepare<[number, number]>(
      'DELETE FROM columns WHERE table_id = ? AND column_id = ?',
    );
    this.#delete = connection.prepare<[number]>('DELETE FROM tables WHERE table_id = ?');
  }

  /** Returns the number of tables of a database. */
  count({ databaseId }: Database): number {
    return Number(this.#count.get(databaseId)?.count ?? 0n);
  }

  find(database: Database, name: string): Table | undefined {
    const row = this.#byName.get(database.databaseId, name);
    return row === undefined ? undefined : this.#fromRow(row);
  }

  findById(tableId: number): Table | undefined {
    const row = this.#byId.get(tableId);
    return row === undefined ? undefined : this.#fromRow(row);
  }

  list(database: Database): Table[] {
    return this.#ofDatabase.all(database.databaseId).map((row) => this.#fromRow(row));
  }

  /** @returns the new table's id; it has no columns or regions yet. */
  insert(table: NewTable): number {
    const { database, name, options, primaryKey, createdMs } = table;
    const { lastInsertRowid } = this.#insert.run(
      database.databaseId,
      name,
      JSON.stringify(options),
      JSON.stringify(primaryKey),
      createdMs,
    );
    return Number(lastInsertRowid);
  }

  /**
   * Adds a column after the others, with an id that the table never had.
   * @returns the id.
   */
  addColumn(tableId: number, column: Omit<Column, 'id' | 'backfillSql' | 'formerTypes'>, backfillSql = ''): number {
    const id = Number(this.#takeColumnId.get(tableId)?.id);
    const { name, type, kind, defaultSql, comment } = column;
    const nullable = column.nullable ? 1 : 0;
    const indexes = JSON.stringify(column.indexes);
    this.#insertColumn.run({ tableId, id, name, type, kind, nullable, defaultSql, comment, backfillSql, indexes });
    return id;
  }

  /** Changes name, columns and options of a table. Columns without an id are new; missing ones are removed. */
  alter(table: Table, form: Pick<Table, 'name' | 'columns' | 'options' | 'primaryKey'>): void {
    const { tableId } = table;
    const { name, columns } = form;
    const [options, primaryKey] = [JSON.stringify(form.options), JSON.stringify(form.primaryKey)];
    this.#alter.run({ tableId, name, options, primaryKey });
    const kept = new Set(columns.map(({ id }) => id));
    for (const { id } of table.columns) if (!kept.has(id)) this.#deleteColumn.run(tableId, id);
    // Two columns may swap their names.
    for (const column of table.columns) if (kept.has(column.id)) this.#set(tableId, column, `\0${column.id}`, 0);
    for (const [i, column] of columns.entries()) {
      const id = column.id === 0 ? this.addColumn(tableId, column, column.backfillSql) : column.id;
      this.#set(tableId, { ...column, id }, column.name, i + 1);
    }
  }

  #set(tableId: number, column: Column, name: string, position: number): void {
    const { id, type, defaultSql, comment } = column;
    const formerTypes = JSON.stringify(column.formerTypes);
    const indexes = JSON.stringify(column.indexes);
    const nullable = column.nullable ? 1 : 0;
    this.#setColumn.run({ tableId, id, name, position, type, nullable, defaultSql, comment, formerTypes, indexes });
  }

  /** Records that the columns, or inherited options, changed. */
  bumpSchema(tableId: number, primaryKey: readonly string[]): void {
    this.#bump.run(JSON.stringify(primaryKey), tableId);
  }

  /** Deletes the row and, by cascade, columns, regions and manifest entries. */
  delete(tableId: number): void {
    this.#delete.run(tableId);
  }

  #fromRow(row: TableRow): Table {
    const tableId = Number(row.table_id);
    const options = JSON.parse(row.options) as Record<string, string>;
    const inherited = JSON.parse(row.database_options) as Record<string, string>;
    return {
      tableId,
      databaseId: Number(row.database_id),
      database: row.database,
      name: row.name,
      schemaVersion: Number(row.schema_version),
      columns: this.#columns.all(tableId).map(columnFromRow),
      options,
      regions: this.#regions.all(tableId).map(regionFromRow),
      createdMs: Number(row.created_ms),
      primaryKey: JSON.parse(row.primary_key) as string[],
      ttl: options['ttl'] ?? inherited['ttl'] ?? '',
    };
  }
}

function columnFromRow(row: ColumnRow): Column {
  return {
    id: Number(row.column_id),
    name: row.name,
    type: row.type,
    kind: row.kind,
    nullable: row.nullable !== 0n,
    defaultSql: row.default_sql,
    comment: row.comment,
    backfillSql: row.backfill_sql,
    formerTypes: JSON.parse(row.former_types) as FormerType[],
    indexes: JSON.parse(row.indexes) as ColumnIndex[],
  };
}

function regionFromRow(row: RegionRow): RegionInfo {
  return {
    regionId: Number(row.region_id),
    index: Number(row.position),
    epoch: Number(row.epoch),
    nodeId: Number(row.node_id),
    idsSinceEpoch: Number(row.ids_since_epoch),
  };
}
