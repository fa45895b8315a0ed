import { invariant } from '#shared/errors/invariant';

/** The members of a column that schema rules look at; contracts' columns have them all. */
export interface ColumnLike {
  readonly id: number;
  readonly name: string;
  readonly type: string;
  /** `tag`: part of a series' identity; `field`: a value; `time`: the time index. */
  readonly kind: string;
}

export interface TableLike<C extends ColumnLike = ColumnLike> {
  readonly columns: readonly C[];
  readonly options: Readonly<Record<string, string>>;
}

export type MergeMode = 'last_row' | 'last_non_null';

/** The one time index column of a table. */
export function timeIndexOf<C extends ColumnLike>(table: TableLike<C>): C {
  const column = table.columns.find((candidate) => candidate.kind === 'time');
  invariant(column !== undefined, 'table has no time index');
  return column;
}

export function tagsOf<C extends ColumnLike>(table: TableLike<C>): C[] {
  return table.columns.filter((column) => column.kind === 'tag');
}

export function fieldsOf<C extends ColumnLike>(table: TableLike<C>): C[] {
  return table.columns.filter((column) => column.kind === 'field');
}

/** Whether every row is kept, so that there are no versions of a row. */
export function isAppendOnly(table: TableLike): boolean {
  return table.options['append_mode'] === 'true';
}

/** How versions of a row with equal tags and time become one. */
export function mergeModeOf(table: TableLike): MergeMode {
  return table.options['merge_mode'] === 'last_non_null' ? 'last_non_null' : 'last_row';
}
