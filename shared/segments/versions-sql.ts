import type { MergeMode } from '#shared/schema/table-schema';
import { ANEW, DELETED } from '#shared/schema/segment-columns';

/** How versions of rows become one. */
export interface VersionsShape {
  /** Columns that name a row, with commas. */
  readonly keys: string;
  readonly fields: readonly string[];
  readonly mode: MergeMode;
  /** Column of operations (`OP`); undefined where no row has one. */
  readonly op: string | undefined;
}

/**
 * One row of each key: the newest whole, or field by field the newest that is not null; with the operation that the row
 * has then. Rows of keys that are deleted are there, as such.
 *
 * @param rows SELECT with a column `version`, which orders the rows of a key.
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
  // Versions count twice, so that a row that hides itself and one that only hides those before it end at points of
  // their own.
  const hidden = `CASE ${op} WHEN ${DELETED} THEN 2 * version + 1 WHEN ${ANEW} THEN 2 * version END`;
  const marked = `SELECT *, max(${hidden}) OVER (PARTITION BY ${keys}) AS hidden FROM (${rows})`;
  const counts = ' FILTER (WHERE hidden IS NULL OR 2 * version >= hidden)';
  const operation =
    `CASE WHEN max(hidden) IS NULL THEN NULL WHEN 2 * max(version) < max(hidden) THEN ${DELETED} ` +
    `ELSE ${ANEW} END AS ${op}`;
  return `SELECT ${merged('arg_max', counts)}, ${operation} FROM (${marked}) GROUP BY ${keys}`;
}

/** That a row is one, and not a deletion. */
export function isPut(op: string): string {
  return `${op} IS DISTINCT FROM ${DELETED}`;
}
