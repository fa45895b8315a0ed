import type { Database } from '#shared/contracts/gen/common';
import type { View, ViewColumn } from '#shared/contracts/gen/metadata';
import type { CatalogConnection } from './open.js';

interface Row {
  view_id: bigint;
  name: string;
  columns: string;
  query: string;
  query_database: string;
  statement: string;
  created_ms: bigint;
}

type DatabaseKey = Pick<Database, 'databaseId' | 'name'>;

/** SQL of the `views` table. */
export class ViewStore {
  readonly #byName;
  readonly #ofDatabase;
  readonly #insert;
  readonly #delete;
  readonly #deleteAll;
  readonly #size;

  constructor(connection: CatalogConnection) {
    this.#byName = connection.prepare<[number, string], Row>('SELECT * FROM views WHERE database_id = ? AND name = ?');
    this.#ofDatabase = connection.prepare<[number], Row>('SELECT * FROM views WHERE database_id = ? ORDER BY name');
    this.#insert = connection.prepare<[number, string, string, string, string, string, number]>(
      'INSERT INTO views (database_id, name, columns, query, query_database, statement, created_ms) ' +
        'VALUES (?, ?, ?, ?, ?, ?, ?)',
    );
    this.#delete = connection.prepare<[number]>('DELETE FROM views WHERE view_id = ?');
    this.#deleteAll = connection.prepare<[number]>('DELETE FROM views WHERE database_id = ?');
    this.#size = connection.prepare<[], { count: bigint; chars: bigint }>(
      'SELECT count(*) AS count, ifnull(sum(length(columns) + length(query) + length(statement)), 0) AS chars FROM views',
    );
  }

  find(database: DatabaseKey, name: string): View | undefined {
    const row = this.#byName.get(database.databaseId, name);
    return row === undefined ? undefined : fromRow(row, database.name);
  }

  /** Returns the views of a database, by name. */
  list(database: DatabaseKey): View[] {
    return this.#ofDatabase.all(database.databaseId).map((row) => fromRow(row, database.name));
  }

  /** Returns the number of all views and of the characters of their texts. */
  size(): { readonly count: number; readonly chars: number } {
    const { count, chars } = this.#size.get() ?? { count: 0n, chars: 0n };
    return { count: Number(count), chars: Number(chars) };
  }

  /** Stores a view under a new ID. */
  insert(database: DatabaseKey, view: View): View {
    const { name, columns, query, queryDatabase, statement, createdMs } = view;
    const texts = [JSON.stringify(columns), query, queryDatabase, statement] as const;
    const { lastInsertRowid } = this.#insert.run(database.databaseId, name, ...texts, createdMs);
    return { ...view, viewId: Number(lastInsertRowid) };
  }

  delete(viewId: number): void {
    this.#delete.run(viewId);
  }

  deleteAll({ databaseId }: DatabaseKey): void {
    this.#deleteAll.run(databaseId);
  }
}

function fromRow(row: Row, database: string): View {
  return {
    viewId: Number(row.view_id),
    database,
    name: row.name,
    columns: JSON.parse(row.columns) as ViewColumn[],
    query: row.query,
    queryDatabase: row.query_database,
    statement: row.statement,
    createdMs: Number(row.created_ms),
  };
}
