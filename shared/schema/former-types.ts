/**
 * Former types of a field.
 *
 * Stored data keeps its type: in segments, log records and memory. A reader casts each value through every type that the
 * column has had since, so that the result does not depend on how often it was merged meanwhile. A column never gets a
 * former type again, so the type alone identifies where a value starts.
 */

/** Current and former types of a column, as the contracts store them. */
export interface TypedColumn {
  readonly type: string;
  /** Oldest first, each with the last schema version of the table that had it. */
  readonly formerTypes: readonly { readonly type: string; readonly lastVersion: number }[];
}

/** Returns the type of a column's values that were stored under a schema version. */
export function typeAt({ type, formerTypes }: TypedColumn, schemaVersion: number): string {
  return formerTypes.find(({ lastVersion }) => schemaVersion <= lastVersion)?.type ?? type;
}

/** Returns the types that a value is cast through, beginning with the stored one; undefined if the column never had that. */
export function typesFrom(column: TypedColumn, from: string): readonly string[] | undefined {
  const types = typesOf(column);
  const at = types.indexOf(from);
  return at < 0 ? undefined : types.slice(at);
}

/** Returns all types of a column, oldest first. */
export function typesOf({ type, formerTypes }: TypedColumn): readonly string[] {
  return [...formerTypes.map((former) => former.type), type];
}

/** Returns the table with some columns in former types. @param types by column id. */
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
