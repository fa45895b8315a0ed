import type { Table } from '#shared/contracts/gen/common';

/** A table that belongs to one statement and whose rows are in the engine already. */
export interface GivenTable extends Table {
  /** Its SQL name in the engine. */
  readonly relation: string;
  /** Returns a relation with at least this number of rows, for a table without an end. */
  readonly relationOf?: (rowCount: number) => string;
}

/**
 * Returns the relation of a table that belongs to the statement; undefined for all others.
 *
 * @param rowCount number of rows that the statement needs, if it has a limit.
 */
export function givenRelation(table: Table, rowCount?: number): string | undefined {
  const { relation, relationOf } = table as Partial<GivenTable>;
  return rowCount === undefined || relationOf === undefined ? relation : relationOf(rowCount);
}
