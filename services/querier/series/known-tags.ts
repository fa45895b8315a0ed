import type { Column, Table } from '#shared/contracts/gen/common';
import { invariant } from '#shared/errors/invariant';
import { tagsOf } from '#shared/schema/table-schema';

/**
 * The tags of a table, as the newest form has them that was heard of: what is read may be newer than the query that reads it,
 * and a tag that is left out of a series would be missing for all later ones too.
 */
export class KnownTags {
  readonly #newest: (tableId: number) => Promise<Table>;
  #table: Table;
  #byId: ReadonlyMap<number, Column>;

  /** @param newest asks for the table as it is by now. */
  constructor(table: Table, newest: (tableId: number) => Promise<Table>) {
    this.#newest = newest;
    this.#table = table;
    this.#byId = byId(table);
  }

  get table(): Table {
    return this.#table;
  }

  get all(): readonly Column[] {
    return [...this.#byId.values()];
  }

  has(id: number): boolean {
    return this.#byId.has(id);
  }

  /** The tag of that id, which must be known. */
  of(id: number): Column {
    const tag = this.#byId.get(id);
    invariant(tag !== undefined, `series of table ${this.#table.tableId} have a tag ${id} without a column`);
    return tag;
  }

  /** Takes over a newer form of the table. */
  adopt(table: Table): void {
    if (table.schemaVersion <= this.#table.schemaVersion) return;
    this.#table = table;
    this.#byId = byId(table);
  }

  /** Sees to it that all of these are known. */
  async learn(ids: readonly number[]): Promise<void> {
    if (ids.every((id) => this.has(id))) return;
    this.adopt(await this.#newest(this.#table.tableId));
    for (const id of ids) this.of(id);
  }
}

function byId(table: Table): ReadonlyMap<number, Column> {
  return new Map(tagsOf(table).map((tag) => [tag.id, tag]));
}
