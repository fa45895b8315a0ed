import type { Table } from '#shared/contracts/gen/common';

/** A table of one statement, whose rows are in the engine already. */
export interface GivenTable extends Table {
  /** As SQL names it there. */
  readonly relation: string;
}

/** Where the rows of a table are that a statement brought along; undefined for all others. */
export function givenRelation(table: Table): string | undefined {
  return (table as Partial<GivenTable>).relation;
}
