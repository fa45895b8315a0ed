import { createHash } from 'node:crypto';

import type { Database } from '#shared/contracts/gen/common';
import type { Dashboard } from '#shared/contracts/gen/metadata';
import type { CatalogConnection } from './open.js';

type DatabaseKey = Pick<Database, 'databaseId'>;
type DashboardRow = Pick<Dashboard, 'name' | 'definition'>;

/** SQL of the `dashboards` table. */
export class DashboardStore {
  readonly #ofDatabase;
  readonly #find;
  readonly #put;
  readonly #delete;
  readonly #deleteAll;
  readonly #size;

  constructor(connection: CatalogConnection) {
    this.#ofDatabase = connection.prepare<[number], DashboardRow>(
      'SELECT name, definition FROM dashboards WHERE database_id = ? ORDER BY name',
    );
    this.#find = connection.prepare<[number, string], DashboardRow>(
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
    return this.#ofDatabase.all(databaseId).map(withEtag);
  }

  find({ databaseId }: DatabaseKey, name: string): Dashboard | undefined {
    const row = this.#find.get(databaseId, name);
    return row === undefined ? undefined : withEtag(row);
  }

  /** Stores a dashboard in the place of one with its name, and returns its etag. */
  put({ databaseId }: DatabaseKey, name: string, definition: string): string {
    this.#put.run(databaseId, name, definition);
    return etagOf(definition);
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

function withEtag(row: DashboardRow): Dashboard {
  return { ...row, etag: etagOf(row.definition) };
}

function etagOf(definition: string): string {
  return createHash('sha256').update(definition).digest('base64url').slice(0, 22);
}
