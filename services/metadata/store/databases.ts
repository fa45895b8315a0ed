import type { Database } from '#shared/contracts/gen/common';
import type { CatalogConnection } from './open.js';

interface Row {
  database_id: bigint;
  name: string;
  options: string;
}

/** SQL of the `databases` table. */
export class DatabaseStore {
  readonly #byName;
  readonly #all;
  readonly #insert;
  readonly #delete;
  readonly #setOptions;

  constructor(connection: CatalogConnection) {
    this.#byName = connection.prepare<[string], Row>('SELECT * FROM databases WHERE name = ?');
    this.#all = connection.prepare<[], Row>('SELECT * FROM databases ORDER BY name');
    this.#insert = connection.prepare<[string, string]>('INSERT INTO databases (name, options) VALUES (?, ?)');
    this.#delete = connection.prepare<[number]>('DELETE FROM databases WHERE database_id = ?');
    this.#setOptions = connection.prepare<[string, number]>('UPDATE databases SET options = ? WHERE database_id = ?');
  }

  setOptions({ databaseId, name }: Database, options: Readonly<Record<string, string>>): Database {
    this.#setOptions.run(JSON.stringify(options), databaseId);
    return { databaseId, name, options };
  }

  find(name: string): Database | undefined {
    const row = this.#byName.get(name);
    return row === undefined ? undefined : fromRow(row);
  }

  list(): Database[] {
    return this.#all.all().map(fromRow);
  }

  insert(name: string, options: Readonly<Record<string, string>>): Database {
    const { lastInsertRowid } = this.#insert.run(name, JSON.stringify(options));
    return { databaseId: Number(lastInsertRowid), name, options };
  }

  delete(databaseId: number): void {
    this.#delete.run(databaseId);
  }
}

function fromRow(row: Row): Database {
  return {
    databaseId: Number(row.database_id),
    name: row.name,
    options: JSON.parse(row.options) as Record<string, string>,
  };
}
