/** Column of the series number within the region, in segments and series files. */
export const SID = '__sid';
/** Column of the 64-bit series ID, in series files. */
export const TSID = '__tsid';
/** Column of the metric number, in segments of metric tables. */
export const METRIC = '__metric';
/** Parquet field IDs of these columns, greater than every column ID of a table. */
export const SID_FIELD_ID = 1_000_000_001;
/** Parquet field ID of `TSID`. */
export const TSID_FIELD_ID = 1_000_000_002;
/** Parquet field ID of `METRIC`. */
export const METRIC_FIELD_ID = 1_000_000_003;
/** Parquet field ID of `OP`. */
export const OP_FIELD_ID = 1_000_000_004;

/** Operation of a deletion: the key has no row from this version on. */
export const DELETED = 1;
/** Operation of a put after a deletion: earlier versions of the key do not count, so field merging stops here. */
export const PUT_AFTER_DELETE = 2;

/**
 * Column with the operation of a row on earlier versions of its key; null for plain versions. Batches and files have it
 * only if some row needs it, after the table's own fields.
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
  indexes: [],
} as const;

const RESERVED = new Set([SID, TSID, METRIC, OP.name]);

/** Returns whether a table's own column must not have this name. */
export function isReservedColumn(name: string): boolean {
  return RESERVED.has(name.toLowerCase());
}

/** Returns the table with the operation column added. @param table with columns of the same shape as `OP`. */
export function withOps<T extends { readonly columns: readonly object[] }>(table: T): T {
  return { ...table, columns: [...table.columns, OP] };
}

/** Returns whether rows with these columns may have operations. */
export function hasOps(columns: readonly { readonly columnId: number }[]): boolean {
  return columns.some(({ columnId }) => columnId === OP_FIELD_ID);
}
