import type { Database } from '#shared/contracts/gen/common';
import type { Dashboard } from '#shared/contracts/gen/metadata';
import type { CatalogConnection } from './open.js';

type DatabaseKey = Pick<Database, 'databaseId'>;

/** SQL of the `dashboards` table. */
export class DashboardStore {
  readonly #ofDatabase;
  readonly #find;
  readonly #put;
  readonly #delete;
  readonly #deleteAll;
  readonly #size;

  constructor(connection: CatalogConnection) {
    this.#ofDatabase = connection.prepare<[number], Dashboard>(
      'SELECT name, definition FROM dashboards WHERE database_id = ? ORDER BY name',
    );
    this.#find = connection.prepare<[number, string], Dashboard>(
      'SELECT name, definition FROM dashboards WHERE database_id = ? AND name = ?',
    );
    this.#put = connection.prepare<[number, string, string]>(
      'INSERT OR REPLACE INTO dashboards (database_id, name, definition) VALUES (?, ?, ?)',
    );
    this.#delete = connection.prepare<[number, string]>('DELETE FROM dashboards WHERE database_id = ? AND name = ?');
    this.#deleteAll = connection.prepare<[number]>('DELETE FROM dashboards WHERE database_id = ?');
    this.#size = connection.prepare<[number, string], { count: bigint; bytes: bigint }>(
      'SELECT count(*) AS count, ifnull(sum(length(CAST(definition AS BLOB))), 0) AS bytes FROM dashboards ' +
        'WHERE database_id = ? AND name <> ?',
    );
  }

  /** Returns the dashboards of a database, by name. */
  list({ databaseId }: DatabaseKey): Dashboard[] {
    return this.#ofDatabase.all(databaseId);
  }

  find({ databaseId }: DatabaseKey, name: string): Dashboard | undefined {
    return this.#find.get(databaseId, name);
  }

  /** Stores a dashboard in the place of one with its name. */
  put({ databaseId }: DatabaseKey, { name, definition }: Dashboard): void {
    this.#put.run(databaseId, name, definition);
  }

  /** @returns whether there was one. */
  delete({ databaseId }: DatabaseKey, name: string): boolean {
    return this.#delete.run(databaseId, name).changes > 0;
  }

  deleteAll({ databaseId }: DatabaseKey): void {
    this.#deleteAll.run(databaseId);
  }

  /** Returns number and size of the dashboards of a database but one. */
  sizeWithout({ databaseId }: DatabaseKey, name: string): { readonly count: number; readonly bytes: number } {
    const { count, bytes } = this.#size.get(databaseId, name) ?? { count: 0n, bytes: 0n };
    return { count: Number(count), bytes: Number(bytes) };
  }
}
