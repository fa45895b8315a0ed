import { ON_PHYSICAL_TABLE, PHYSICAL_METRIC_TABLE } from './metric-table.js';

type Options = Readonly<Record<string, string>>;

/** Returns whether options determine what happens to rows with equal tags and time. */
export function saysVersions(options: Options): boolean {
  return 'append_mode' in options || 'merge_mode' in options;
}

/**
 * Returns the options of a new table: its own, and the database's options for rows with equal tags and time if it has none.
 * They are fixed at creation, since a later change would change which rows exist.
 *
 * @param isDefaultMergeMode whether its `merge_mode` is a default that no user requested.
 */
export function newTableOptions(own: Options, database: Options, isDefaultMergeMode = false): Options {
  const isOfMetrics = PHYSICAL_METRIC_TABLE in own || ON_PHYSICAL_TABLE in own;
  const said = versionsOf(database);
  if (isOfMetrics || said === undefined || (saysVersions(own) && !isDefaultMergeMode)) return own;
  return { ...Object.fromEntries(Object.entries(own).filter(([key]) => key !== 'merge_mode')), ...said };
}

/** Returns the merge options; tables that keep all rows have none. */
function versionsOf(options: Options): Options | undefined {
  if (options['append_mode'] === 'true') return { append_mode: 'true' };
  const { merge_mode } = options;
  return merge_mode === undefined ? undefined : { merge_mode };
}
