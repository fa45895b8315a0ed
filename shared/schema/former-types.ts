/**
 * Types that a field had before.
 *
 * What was stored stays as it was: segments, log records and rows in memory. Whoever reads it takes each value through
 * every type that the column has had since, so that a value is the same however often it was merged meanwhile. A column
 * never gets a type again that it had: the type alone tells from where a value starts.
 */

/** The members of a contract's column that say which types its values have. */
export interface TypedColumn {
  readonly type: string;
  /** Oldest first, each with the last version of the table's schema that had it. */
  readonly formerTypes: readonly { readonly type: string; readonly lastVersion: number }[];
}

/** The type of a column's values that were stored under a version of their table's schema. */
export function typeAt({ type, formerTypes }: TypedColumn, schemaVersion: number): string {
  return formerTypes.find(({ lastVersion }) => schemaVersion <= lastVersion)?.type ?? type;
}

/** The types that a value goes through from the one it was stored as; undefined if the column never had that. */
export function typesFrom(column: TypedColumn, from: string): readonly string[] | undefined {
  const types = typesOf(column);
  const at = types.indexOf(from);
  return at < 0 ? undefined : types.slice(at);
}

/** All types of a column, oldest first. */
export function typesOf({ type, formerTypes }: TypedColumn): readonly string[] {
  return [...formerTypes.map((former) => former.type), type];
}

/** The table as rows are that have other types than it has by now. @param types by column id. */
export function withTypes<T extends { readonly columns: readonly { readonly id: number; readonly type: string }[] }>(
  table: T,
  types: ReadonlyMap<number, string>,
): T {
  if (table.columns.every(({ id, type }) => (types.get(id) ?? type) === type)) return table;
  return {
    ...table,
    columns: table.columns.map((column) => ({ ...column, type: types.get(column.id) ?? column.type })),
  };
}
