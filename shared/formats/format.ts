import type { Cell, ValueType } from '#shared/duckdb/chunk-reader';

/** A column of a result. */
export interface OutputColumn {
  readonly name: string;
  readonly type: ValueType;
}

/** A column of a result by the name of its type. */
export interface HeadColumn {
  readonly name: string;
  readonly type: string;
}

/**
 * How results become text. The querier makes rows, in the engine for large results (`rowSql`) and here for small ones
 * (`encodeRows`); the gateway joins them and adds everything around them.
 */
export interface ResultFormat {
  /** Names that requests may use, in lower case; replies have the first one. */
  readonly names: readonly [string, ...string[]];
  readonly contentType: string;
  /** Separates rows, and blocks of rows. */
  readonly separator: string;
  /** Returns the text before the rows of a result. @param index number of the result in the reply, from 0. */
  head(columns: readonly HeadColumn[], index: number): string;
  /** Returns the text after the rows of a result. */
  tail(rowCount: number): string;
  /** Returns the whole text of a result without rows. @param index number of the result in the reply, from 0. */
  affected(rowCount: number, index: number): string;
  /** Returns the text after all results. */
  end(resultCount: number, elapsedMs: number): string;
  /** Returns the text of `rowCount` rows. @param cells values by column, then row. */
  encodeRows(columns: readonly OutputColumn[], cells: readonly (readonly Cell[])[], rowCount: number): string;
  /**
   * Returns an SQL expression for the text of one row; undefined if only `encodeRows` can write one of the types.
   *
   * @param names SQL names of the columns.
   */
  rowSql(columns: readonly OutputColumn[], names: readonly string[]): string | undefined;
}
