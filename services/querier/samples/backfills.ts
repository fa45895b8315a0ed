import { LRUCache } from 'lru-cache';

import type { Table } from '#shared/contracts/gen/common';
import { backfillExpression } from '#shared/duckdb/backfill';
import type { DuckDBConnection } from '#shared/duckdb/engine';

const VALUES_MAX = 1000;

/** Values of rows that are older than their column, as doubles. */
export class Backfills {
  readonly #connection: DuckDBConnection;
  /** By table, schema version and column. */
  readonly #values = new LRUCache<string, Promise<number | undefined>>({ max: VALUES_MAX });

  constructor(connection: DuckDBConnection) {
    this.#connection = connection;
  }

  /** Returns the value of rows in files without a numeric column; undefined if they have none. */
  of(table: Table, columnId: number): Promise<number | undefined> | undefined {
    const column = table.columns.find(({ id }) => id === columnId);
    if (column === undefined || column.backfillSql === '') return undefined;
    const key = `${table.tableId} ${table.schemaVersion} ${columnId}`;
    let value = this.#values.get(key);
    if (value === undefined) {
      value = this.#evaluate(`SELECT ${backfillExpression(column)}::DOUBLE`);
      this.#values.set(key, value);
      value.catch(() => this.#values.delete(key));
    }
    return value;
  }

  async #evaluate(sql: string): Promise<number | undefined> {
    const [[value]] = await (await this.#connection.run(sql)).getRows();
    return typeof value === 'number' ? value : undefined;
  }
}
