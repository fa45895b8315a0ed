import type { Table } from '#shared/contracts/gen/common';
import { quoteName } from '#shared/duckdb/quote';
import { isExternal } from '#shared/schema/external-table';

/** A table that belongs to one statement and whose rows are in the engine already. */
export interface GivenTable extends Table {
  /** Its SQL name in the engine. */
  readonly relation: string;
  /** Returns a relation with at least this number of rows, for a table without an end. */
  readonly relationOf?: (rowCount: number) => string;
}

/** Returns the name of the view that shows an external table inside the engine. */
export function externalName({ tableId }: Table): string {
  return `external_${tableId}`;
}

/**
 * Returns the relation of a table that belongs to the statement, or that is external; undefined for all others.
 *
 * @param rowCount number of rows that the statement needs, if it has a limit.
 */
export function givenRelation(table: Table, rowCount?: number): string | undefined {
  if (isExternal(table)) return `temp.${quoteName(externalName(table))}`;
  const { relation, relationOf } = table as Partial<GivenTable>;
  return rowCount === undefined || relationOf === undefined ? relation : relationOf(rowCount);
}
