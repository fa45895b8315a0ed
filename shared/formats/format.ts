import type { Cell, ValueType } from '#shared/duckdb/chunk-reader';
import type { ColumnCells } from '#shared/duckdb/column-cells';

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
 * How results become text, or bytes. The querier makes rows, in the engine for large results (`rowSql`) and here for small ones
 * (`encodeRows`); the gateway joins them and adds everything around them.
 */
export interface ResultFormat {
  /** Names that requests may use, in any case; replies have the first one. */
  readonly names: readonly [string, ...string[]];
  readonly contentType: string;
  /** Whether a reply has one result only. */
  readonly isSingle: boolean;
  /** Separates rows, and blocks of rows. */
  readonly separator: string;
  /** Returns the text before the rows of a result. @param index number of the result in the reply, from 0. */
  head(columns: readonly HeadColumn[], index: number): string | Uint8Array;
  /** Returns the text after the rows of a result. */
  tail(rowCount: number): string | Uint8Array;
  /** Returns the whole text of a result without rows. @param index number of the result in the reply, from 0. */
  affected(rowCount: number, index: number): string | Uint8Array;
  /** Returns the text after all results. */
  end(resultCount: number, elapsedMs: number): string;
  /** Loads what encoding rows needs; has ended before the first call. */
  load?(): Promise<void>;
  /** As `encodeRows`, of cells in arrays; integers of 64 bits may be numbers, if they are exact. Undefined: it only takes cells. */
  encodeColumns?(
    columns: readonly OutputColumn[],
    cells: readonly ColumnCells[],
    rowCount: number,
  ): string | Uint8Array;
  /** Returns the text of `rowCount` rows. @param cells values by column, then row. */
  encodeRows(
    columns: readonly OutputColumn[],
    cells: readonly (readonly Cell[])[],
    rowCount: number,
  ): string | Uint8Array;
  /**
   * Returns an SQL expression for the text of one row; undefined if only `encodeRows` can write one of the types.
   *
   * @param names SQL names of the columns.
   */
  rowSql(columns: readonly OutputColumn[], names: readonly string[]): string | undefined;
  /**
   * Returns the whole text of a result whose look depends on all of its rows. Such a result is held in memory, within a limit,
   * instead of `head`, rows and `tail`.
   *
   * @param rows text of all rows.
   */
  whole?(columns: readonly HeadColumn[], rows: string): string;
}

/** Encodes one value that is not null. */
export type Encoder = (cell: Cell) => string;

/** What rows consist of. */
export interface RowParts {
  /** For each column. */
  readonly encoders: readonly Encoder[];
  /** Text before the value of each column. */
  readonly leads: readonly string[];
  /** Text after the last value of a row. */
  readonly close: string;
  /** Text between rows. */
  readonly separator: string;
  readonly nullText: string;
}

/** Returns the text of rows. @param cells values by column, then row. */
export function encodeByRow(
  cells: readonly (readonly Cell[])[],
  rowCount: number,
  { encoders, leads, close, separator, nullText }: RowParts,
): string {
  let out = '';
  for (let row = 0; row < rowCount; row++) {
    if (row > 0) out += separator;
    for (let i = 0; i < encoders.length; i++) {
      const cell = cells[i][row];
      out += leads[i];
      out += cell === null ? nullText : encoders[i](cell);
    }
    out += close;
  }
  return out;
}

/** Returns the leads of rows whose values have the same text between them. */
export function leadsOf(columnCount: number, open: string, between: string): string[] {
  return Array.from({ length: columnCount }, (_, i) => (i === 0 ? open : between));
}
