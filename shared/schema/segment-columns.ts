/** Names and Parquet field ids of the columns that segments and series files have besides the table's own. */
export const SID = '__sid';
export const TSID = '__tsid';
export const METRIC = '__metric';
/** Beyond every column id of a table. */
export const SID_FIELD_ID = 1_000_000_001;
export const TSID_FIELD_ID = 1_000_000_002;
export const METRIC_FIELD_ID = 1_000_000_003;

const RESERVED = new Set([SID, TSID, METRIC, '__op']);

/** Whether a table's own column may not have this name. */
export function isReservedColumn(name: string): boolean {
  return RESERVED.has(name.toLowerCase());
}
