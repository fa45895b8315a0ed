import type { MergeMode } from '#shared/schema/table-schema';
import { PUT_AFTER_DELETE, DELETED } from '#shared/schema/segment-columns';

/** Describes the rows whose versions are merged. */
export interface VersionsShape {
  /** Columns that identify a row, separated by commas. */
  readonly keys: string;
  readonly fields: readonly string[];
  readonly mode: MergeMode;
  /** Column of operations (`OP`); undefined if no row has one. */
  readonly op: string | undefined;
}

/**
 * Returns SQL that keeps one row per key: the newest version whole, or field by field the newest non-null value, with the
 * resulting operation. Deleted keys stay, marked as deleted.
 *
 * @param rows SELECT with a column `version`, which orders the versions of a key.
 */
export function mergeVersions(rows: string, { keys, fields, mode, op }: VersionsShape): string {
  const merged = (newest: string, filter: string): string => {
    return [keys, ...fields.map((field) => `${newest}(${field}, version)${filter} AS ${field}`)].join(', ');
  };
  if (mode === 'last_row') {
    const operation = op === undefined ? '' : `, arg_max_null(${op}, version) AS ${op}`;
    return `SELECT ${merged('arg_max_null', '')}${operation} FROM (${rows}) GROUP BY ${keys}`;
  }
  if (op === undefined) return `SELECT ${merged('arg_max', '')} FROM (${rows}) GROUP BY ${keys}`;
  // Versions are doubled so that a row that hides itself (2v + 1) and one that only hides earlier versions (2v) sort apart.
  const hidden = `CASE ${op} WHEN ${DELETED} THEN 2 * version + 1 WHEN ${PUT_AFTER_DELETE} THEN 2 * version END`;
  const marked = `SELECT *, max(${hidden}) OVER (PARTITION BY ${keys}) AS hidden FROM (${rows})`;
  const counts = ' FILTER (WHERE hidden IS NULL OR 2 * version >= hidden)';
  const operation =
    `CASE WHEN max(hidden) IS NULL THEN NULL WHEN 2 * max(version) < max(hidden) THEN ${DELETED} ` +
    `ELSE ${PUT_AFTER_DELETE} END AS ${op}`;
  return `SELECT ${merged('arg_max', counts)}, ${operation} FROM (${marked}) GROUP BY ${keys}`;
}

/** Returns the SQL condition that a row is a put, not a deletion. */
export function isPut(op: string): string {
  return `${op} IS DISTINCT FROM ${DELETED}`;
}
