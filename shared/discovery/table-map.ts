import type { Table } from '#shared/contracts/gen/common';

/** Dropped IDs that are remembered, so that a response in flight does not bring a table back. */
const DROPPED_MAX = 16_384;

/** A table that no longer exists. */
export interface DroppedTable {
  readonly tableId: number;
  readonly database: string;
  readonly name: string;
  readonly regionIds: readonly number[];
}

/** Tables by name and ID, each in its newest known schema version; versions may arrive in any order. */
export class TableMap {
  readonly #byId = new Map<number, Table>();
  /** By database, then by name: all tables that have the name in their newest known version. */
  readonly #byName = new Map<string, Map<string, Table[]>>();
  /** Lists of databases since their last change: queries of metrics read them each time. */
  readonly #listed = new Map<string, readonly Table[]>();
  readonly #dropped = new Set<number>();

  /**
   * Returns the table of that name. Versions of different tables arrive in any order, so two tables may briefly have one
   * name. IDs only grow: the greater is current, or the other is about to be renamed.
   */
  find(database: string, name: string): Table | undefined {
    return newest(this.#byName.get(database)?.get(name) ?? []);
  }

  byId(tableId: number): Table | undefined {
    return this.#byId.get(tableId);
  }

  /** Returns the tables of a database in the order of their names: the same array until one of them changes. */
  ofDatabase(database: string): readonly Table[] {
    let listed = this.#listed.get(database);
    if (listed === undefined) {
      const tables = [...(this.#byName.get(database)?.values() ?? [])].flatMap((named) => newest(named) ?? []);
      listed = tables.sort((a, b) => (a.name < b.name ? -1 : 1));
      // Names of databases come from clients.
      if (tables.length > 0) this.#listed.set(database, listed);
    }
    return listed;
  }

  all(): Table[] {
    return [...this.#byId.values()];
  }

  /** Stores a version. @returns false, without a change, if a newer version is known or the table is dropped. */
  put(table: Table): boolean {
    if (this.#dropped.has(table.tableId)) return false;
    const known = this.#byId.get(table.tableId);
    if (known !== undefined && isOlder(table, known)) return false;
    if (known !== undefined) this.#unname(known);
    this.#byId.set(table.tableId, table);
    this.#listed.delete(table.database);
    let names = this.#byName.get(table.database);
    if (names === undefined) this.#byName.set(table.database, (names = new Map<string, Table[]>()));
    names.set(table.name, [...(names.get(table.name) ?? []), table]);
    return true;
  }

  /** Removes a table. @returns false if it was removed before. */
  drop(tableId: number): boolean {
    if (this.#dropped.has(tableId)) return false;
    if (this.#dropped.size >= DROPPED_MAX) this.#forgetOldest();
    this.#dropped.add(tableId);
    const known = this.#byId.get(tableId);
    if (known !== undefined) this.#unname(known);
    this.#byId.delete(tableId);
    return true;
  }

  #unname(table: Table): void {
    this.#listed.delete(table.database);
    const names = this.#byName.get(table.database);
    if (names === undefined) return;
    const others = names.get(table.name)?.filter(({ tableId }) => tableId !== table.tableId) ?? [];
    if (others.length > 0) names.set(table.name, others);
    else names.delete(table.name);
    if (names.size === 0) this.#byName.delete(table.database);
  }

  #forgetOldest(): void {
    for (const oldest of this.#dropped) {
      this.#dropped.delete(oldest);
      return;
    }
  }
}

function newest(tables: readonly Table[]): Table | undefined {
  let found: Table | undefined;
  for (const table of tables) if (found === undefined || table.tableId > found.tableId) found = table;
  return found;
}

/**
 * Schema versions and epochs only grow, and each change of a table increases one of them: versions of a table are ordered
 * by the schema version, then by the sum of the epochs.
 */
function isOlder(table: Table, than: Table): boolean {
  if (table.schemaVersion !== than.schemaVersion) return table.schemaVersion < than.schemaVersion;
  return epochs(table) < epochs(than);
}

function epochs(table: Table): number {
  let sum = 0;
  for (const region of table.regions) sum += region.epoch;
  return sum;
}
