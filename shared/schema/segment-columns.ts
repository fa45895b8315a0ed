/** Names and Parquet field ids of the columns that segments and series files have besides the table's own. */
export const SID = '__sid';
export const TSID = '__tsid';
export const METRIC = '__metric';
/** Beyond every column id of a table. */
export const SID_FIELD_ID = 1_000_000_001;
export const TSID_FIELD_ID = 1_000_000_002;
export const METRIC_FIELD_ID = 1_000_000_003;
export const OP_FIELD_ID = 1_000_000_004;

/** What a row with an operation is: its key has no row from there on. */
export const DELETED = 1;
/** The row counts, and no earlier one of its key does: so merged fields do not reach behind a deletion. */
export const ANEW = 2;

/**
 * What a row does to earlier ones of its key; null in rows that are plain versions. It is in batches and files only
 * where some row has one, and stands behind the table's own fields.
 */
export const OP = {
  id: OP_FIELD_ID,
  name: '__op',
  type: 'UInt8',
  kind: 'field',
  nullable: true,
  defaultSql: '',
  comment: '',
  backfillSql: '',
  formerTypes: [],
} as const;

const RESERVED = new Set([SID, TSID, METRIC, OP.name]);

/** Whether a table's own column may not have this name. */
export function isReservedColumn(name: string): boolean {
  return RESERVED.has(name.toLowerCase());
}

/** The table as its rows are stored where some have operations. @param table with columns of the form of `OP`. */
export function withOps<T extends { readonly columns: readonly object[] }>(table: T): T {
  return { ...table, columns: [...table.columns, OP] };
}

/** Whether rows with these columns may have operations. */
export function hasOps(columns: readonly { readonly columnId: number }[]): boolean {
  return columns.some(({ columnId }) => columnId === OP_FIELD_ID);
}
