import { invariant } from '#shared/errors/invariant';

/** The members of a column that schema rules use; the contracts' columns have them all. */
export interface ColumnLike {
  readonly id: number;
  readonly name: string;
  readonly type: string;
  /** `tag`: part of a series' identity; `field`: a value; `time`: the time index. */
  readonly kind: string;
}

/** The members of a table that schema rules use. */
export interface TableLike<C extends ColumnLike = ColumnLike> {
  readonly columns: readonly C[];
  readonly options: Readonly<Record<string, string>>;
}

/** How versions of one row are merged: the newest row whole, or field by field the newest non-null value. */
export type MergeMode = 'last_row' | 'last_non_null';

/** Returns the time index column of a table. */
export function timeIndexOf<C extends ColumnLike>(table: TableLike<C>): C {
  const column = table.columns.find((candidate) => candidate.kind === 'time');
  invariant(column !== undefined, 'table has no time index');
  return column;
}

/** Returns the tag columns in order. */
export function tagsOf<C extends ColumnLike>(table: TableLike<C>): C[] {
  return table.columns.filter((column) => column.kind === 'tag');
}

/** Returns the field columns in order. */
export function fieldsOf<C extends ColumnLike>(table: TableLike<C>): C[] {
  return table.columns.filter((column) => column.kind === 'field');
}

/** Returns whether a table keeps every row, so that rows have no versions. */
export function isAppendOnly(table: TableLike): boolean {
  return table.options['append_mode'] === 'true';
}

/** Returns how versions of a row with equal tags and time are merged. */
export function mergeModeOf(table: TableLike): MergeMode {
  return table.options['merge_mode'] === 'last_non_null' ? 'last_non_null' : 'last_row';
}
