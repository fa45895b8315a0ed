import type { Call } from '#shared/contracts/call';
import type { ColumnIndex, Table } from '#shared/contracts/gen/common';
import type { DroppedTable } from '#shared/discovery/table-map';
import type { BatchSet } from '#shared/rowbatch/builder';

/** Which tables a request writes to, and how missing ones are created. */
export interface WriteOptions {
  readonly database: string;
  /** Create missing tables; missing columns are added in any case. */
  readonly create: boolean;
  /** Time index of a table that is created. */
  readonly timeIndex: { readonly name: string; readonly type: string };
  /** Columns of a table that is created, in front of those that have values: the same in all tables of a protocol. */
  readonly columns?: readonly NewColumn[];
  /** Options of a table that is created. */
  readonly tableOptions: Readonly<Record<string, string>>;
  /** Whether `merge_mode` is a default that the client did not request: the option of the database takes precedence. */
  readonly isDefaultMergeMode?: boolean;
  /** Fields of type Int64 become Float64 where rows have fractions for them; otherwise such rows are rejected. */
  readonly widensIntegers?: boolean;
  /** Whether no row is written if one is rejected. */
  readonly refusesPartly?: boolean;
  /** Unit of the times in the batches, as a native type; converted to the unit of the table, rounding down. */
  readonly timeType: string;
  /** The client's name for the request: when it is sent again under this name, no row is applied twice. */
  readonly idempotencyKey?: string | undefined;
}

/** A column of a table that a write creates. */
export interface NewColumn {
  readonly name: string;
  /** Native type name. */
  readonly type: string;
  readonly kind: 'tag' | 'field' | 'time';
  /** Its indexes; undefined: none. */
  readonly indexes?: readonly ColumnIndex[];
}

/** A column of a row that has another type or another use in the table. */
export interface ColumnConflict {
  readonly column: string;
  /** Native type of the value, or `tag`. */
  readonly given: string;
  /** Native type of the column, or `tag`. */
  readonly existing: string;
}

/** Rows of one table that were rejected for the same reason; all other rows of the request are written. */
export interface RejectedRow {
  readonly table: string;
  readonly reason: string;
  readonly rowCount: number;
  /** Set if a column is the reason. */
  readonly conflict?: ColumnConflict;
}

/** Returns rows that a column of the table rejected. */
export function conflictingRows(table: string, conflict: ColumnConflict, rowCount: number): RejectedRow {
  const { column, given, existing } = conflict;
  return { table, reason: `column "${column}" has type ${existing}, not ${given}`, rowCount, conflict };
}

/** What a write did. */
export interface WriteResult {
  /** Rows that are durable. */
  readonly rowCount: number;
  /** Conflicts first, in order of the tables. */
  readonly rejected: readonly RejectedRow[];
}

/** Writes batches of rows durably. */
export interface RowWriter {
  /**
   * Writes all rows of a request; when it resolves they are acknowledged.
   *
   * @param batches must not be used afterwards.
   * @throws `database_not_found`; `table_not_found` if a table is missing and must not be created; `invalid_arguments`
   *   for names that are not allowed, and nothing is stored; `region_busy`, `region_not_ready`, `storage_unavailable`,
   *   `deadline_exceeded`: the outcome is unknown, and sending the same again is safe for tables with versions.
   */
  write(batches: BatchSet, options: WriteOptions, call: Call): Promise<WriteResult>;
}

/** The part of `CatalogCache` that writes need. */
export interface WriteCatalog {
  known(database: string, name: string): Table | undefined;
  knownById(tableId: number): Table | undefined;
  apply(table: Table): void;
  onDropped(listener: (table: DroppedTable) => void): () => void;
}
