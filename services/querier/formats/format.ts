import type { Cell, ValueType } from '#shared/duckdb/chunk-reader';

/** A column of a result. */
export interface OutputColumn {
  readonly name: string;
  readonly type: ValueType;
}

/** How rows become text. A format has both ways: large results are made by the engine, small ones here. */
export interface Format {
  /** Names that requests may use, in lower case. */
  readonly names: readonly string[];
  /** Stands between rows, and between blocks of rows. */
  readonly separator: string;
  /** Text of `rowCount` rows. @param cells values by column, then row. */
  encodeRows(columns: readonly OutputColumn[], cells: readonly (readonly Cell[])[], rowCount: number): string;
  /**
   * SQL expression that makes the text of one row. @param names SQL names of the columns.
   * @returns undefined if a column's type can only be written by `encodeRows`.
   */
  rowSql(columns: readonly OutputColumn[], names: readonly string[]): string | undefined;
}
