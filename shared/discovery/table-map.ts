import type { Table } from '#shared/contracts/gen/common';

/** Dropped ids that are remembered, so that an answer that was under way does not bring a table back. */
const DROPPED_MAX = 16_384;

export interface DroppedTable {
  readonly tableId: number;
  readonly database: string;
  readonly name: string;
  readonly regionIds: readonly number[];
}

/** Tables by name and id, each in the newest form that was seen; forms may come in any order. */
export class TableMap {
  readonly #byId = new Map<number, Table>();
  /** By database, then by name: all that bear it in their newest form. */
  readonly #byName = new Map<string, Map<string, Table[]>>();
  readonly #dropped = new Set<number>();

  /**
   * The table of that name. Forms of different tables come in any order too, so for a moment two may bear one name: ids
   * only grow, so the greater is the one that is there now, or the other is about to be renamed.
   */
  find(database: string, name: string): Table | undefined {
    return newest(this.#byName.get(database)?.get(name) ?? []);
  }

  byId(tableId: number): Table | undefined {
    return this.#byId.get(tableId);
  }

  /** In order of names. */
  ofDatabase(database: string): Table[] {
    const tables = [...(this.#byName.get(database)?.values() ?? [])].flatMap((named) => newest(named) ?? []);
    return tables.sort((a, b) => (a.name < b.name ? -1 : 1));
  }

  all(): Table[] {
    return [...this.#byId.values()];
  }

  /** @returns false if a newer form is known, or that the table is gone: nothing changed. */
  put(table: Table): boolean {
    if (this.#dropped.has(table.tableId)) return false;
    const known = this.#byId.get(table.tableId);
    if (known !== undefined && isOlder(table, known)) return false;
    if (known !== undefined) this.#unname(known);
    this.#byId.set(table.tableId, table);
    let names = this.#byName.get(table.database);
    if (names === undefined) this.#byName.set(table.database, (names = new Map<string, Table[]>()));
    names.set(table.name, [...(names.get(table.name) ?? []), table]);
    return true;
  }

  /** @returns false if the table was dropped before. */
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
 * Schema versions and epochs only grow, and each change of a table raises one of them: forms of one table are in order by
 * the schema version, then by the sum of the epochs.
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
