import { ON_PHYSICAL_TABLE, PHYSICAL_METRIC_TABLE } from './metric-table.js';

type Options = Readonly<Record<string, string>>;

/** Returns whether options determine what happens to rows with equal tags and time. */
export function saysVersions(options: Options): boolean {
  return 'append_mode' in options || 'merge_mode' in options;
}

/** Options of a database that its new tables get. Others, like `ttl`, apply to all tables without one of their own. */
const COPIED = ['memtable.type', 'skip_wal', 'sst_format', 'storage'];

/**
 * Returns the options of a new table: its own, and those of the database that it lacks. Options for rows with equal tags and
 * time are fixed at creation, since a later change would change which rows exist.
 *
 * @param isDefaultMergeMode whether its `merge_mode` is a default that no user requested.
 */
export function newTableOptions(own: Options, database: Options, isDefaultMergeMode = false): Options {
  const isOfMetrics = PHYSICAL_METRIC_TABLE in own || ON_PHYSICAL_TABLE in own;
  const said = versionsOf(database);
  if (isOfMetrics) return own;
  const copied = Object.fromEntries(Object.entries(database).filter(([key]) => COPIED.includes(key)));
  if (said === undefined || (saysVersions(own) && !isDefaultMergeMode)) return { ...copied, ...own };
  return { ...copied, ...Object.fromEntries(Object.entries(own).filter(([key]) => key !== 'merge_mode')), ...said };
}

/** Returns the merge options; tables that keep all rows have none. */
function versionsOf(options: Options): Options | undefined {
  if (options['append_mode'] === 'true') return { append_mode: 'true' };
  const { merge_mode } = options;
  return merge_mode === undefined ? undefined : { merge_mode };
}
