import { checkCall } from '#shared/contracts/call';
import type { Table } from '#shared/contracts/gen/common';
import type { Cell } from '#shared/duckdb/chunk-reader';
import type { QueryConnection } from '#shared/duckdb/query-connection';

import { filledName, isSystemTable, type SystemRow, type SystemTable, type SystemTableSource } from './system-table.js';

/** Rows of one block: the number that the engine takes at once. */
const BLOCK_ROWS = 2048;

/** Fills the system tables that a query names into temporary tables of a connection, which exist until `drop`. */
export class FilledTables {
  readonly #connection: QueryConnection;
  readonly #filled = new Set<string>();

  constructor(connection: QueryConnection) {
    this.#connection = connection;
  }

  /** Fills those of the tables that are system tables and are not filled yet. @param rest called after each block of rows. */
  async fill(
    tables: readonly Table[],
    known: Omit<SystemTableSource, 'callText'>,
    rest: () => Promise<void>,
  ): Promise<void> {
    const callText: SystemTableSource['callText'] = (sql, argument) => this.#connection.callText(sql, argument);
    const source = { ...known, callText };
    for (const table of tables) {
      if (!isSystemTable(table) || table.relationOf !== undefined || this.#filled.has(table.relation)) continue;
      this.#filled.add(table.relation);
      await this.#connection.fill(
        filledName(table.database, table.name),
        table.columns,
        blocks(table, source),
        async () => {
          await rest();
          checkCall(source.call);
        },
      );
    }
  }

  async drop(): Promise<void> {
    for (const relation of this.#filled) await this.#connection.dropFilled(relation);
  }
}

async function* blocks(table: SystemTable, source: SystemTableSource): AsyncIterable<Cell[][]> {
  let rows: SystemRow[] = [];
  const block = (): Cell[][] => table.columns.map(({ name }) => rows.map((row) => row[name] ?? null));
  for await (const row of table.rows(source)) {
    rows.push(row);
    if (rows.length < BLOCK_ROWS) continue;
    yield block();
    rows = [];
  }
  if (rows.length > 0) yield block();
}
