import type { Table } from '#shared/contracts/gen/common';

/** A table that belongs to one statement and whose rows are in the engine already. */
export interface GivenTable extends Table {
  /** Its SQL name in the engine. */
  readonly relation: string;
}

/** Returns the relation of a table that belongs to the statement; undefined for all others. */
export function givenRelation(table: Table): string | undefined {
  return (table as Partial<GivenTable>).relation;
}
