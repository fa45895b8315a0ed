import type { Call } from '#shared/contracts/call';
import type { BatchSet } from '#shared/rowbatch/builder';

/** How the tables of a request come to be. */
export interface WriteOptions {
  readonly database: string;
  /** Make missing tables; columns are added in any case. */
  readonly create: boolean;
  /** Time index of a table that is made here. */
  readonly timeIndex: { readonly name: string; readonly type: string };
  /** Options of a table that is made here. */
  readonly tableOptions: Readonly<Record<string, string>>;
  /** Whether their `merge_mode` is none that the client asked for: what the database says goes before it. */
  readonly isDefaultMergeMode?: boolean;
  /** Unit of the times in the batches, as a native type; another unit of the table is converted to, rounding down. */
  readonly timeType: string;
  /** The client's name for this request: sent again under it, no row is applied twice. */
  readonly idempotencyKey?: string | undefined;
}

/** Rows that were left out because a column has another type or another use in the table. */
export interface ColumnConflict {
  readonly table: string;
  readonly column: string;
  /** Native type or `tag` of the batch, and what the table has. */
  readonly given: string;
  readonly existing: string;
  readonly rowCount: number;
}

export interface WriteResult {
  /** Rows that are kept. */
  readonly rowCount: number;
  readonly conflicts: readonly ColumnConflict[];
  /** Rows left out for a reason of their own: time outside of the column's range, a time index named as a field. */
  readonly refused: readonly { readonly table: string; readonly reason: string; readonly rowCount: number }[];
}

/** Batches in, durable rows out. */
export interface RowWriter {
  /**
   * Writes all rows of a request; when it resolves they are acknowledged.
   *
   * @param batches taken over: they must not be used afterwards.
   * @throws `database_not_found`; `table_not_found` if a table is missing and may not be made; `invalid_arguments` for
   *   names that cannot be, and nothing is stored; `region_busy`, `region_not_ready`, `storage_unavailable`,
   *   `deadline_exceeded`: the outcome is unknown, and sending the same again is safe for tables with versions.
   */
  write(batches: BatchSet, options: WriteOptions, call: Call): Promise<WriteResult>;
}
