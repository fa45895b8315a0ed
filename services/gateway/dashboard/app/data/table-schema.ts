/** What a column is for. */
export type ColumnRole = 'tag' | 'field' | 'time index';

/** A column of a table. */
export interface SchemaColumn {
  readonly name: string;
  readonly type: string;
  readonly role: ColumnRole;
}

/** A table of a database. */
export interface SchemaTable {
  readonly name: string;
  readonly columns: readonly SchemaColumn[];
}
