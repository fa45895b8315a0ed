import type { Column, Table } from '#shared/contracts/gen/common';
import { invariant } from '#shared/errors/invariant';
import { tagsOf } from '#shared/schema/table-schema';

/**
 * Tag columns of a table by column ID, from the newest schema version seen so far. Series may have newer tags than the
 * query that reads them knows, and a tag that is left out of a series would be missing for all later queries too.
 */
export class KnownTags {
  readonly #latestSchema: (tableId: number) => Promise<Table>;
  #table: Table;
  #byId: ReadonlyMap<number, Column>;

  /** @param latestSchema returns the current schema of the table. */
  constructor(table: Table, latestSchema: (tableId: number) => Promise<Table>) {
    this.#latestSchema = latestSchema;
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

  /** Returns the tag with this column ID, which must be known. */
  of(id: number): Column {
    const tag = this.#byId.get(id);
    invariant(tag !== undefined, `series of table ${this.#table.tableId} have a tag ${id} without a column`);
    return tag;
  }

  /** Uses `table` from now on if its schema is newer. */
  adopt(table: Table): void {
    if (table.schemaVersion <= this.#table.schemaVersion) return;
    this.#table = table;
    this.#byId = byId(table);
  }

  /** Fetches the current schema if one of the tags is unknown. */
  async learn(ids: readonly number[]): Promise<void> {
    if (ids.every((id) => this.has(id))) return;
    this.adopt(await this.#latestSchema(this.#table.tableId));
    for (const id of ids) this.of(id);
  }
}

function byId(table: Table): ReadonlyMap<number, Column> {
  return new Map(tagsOf(table).map((tag) => [tag.id, tag]));
}
