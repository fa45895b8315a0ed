import { ON_PHYSICAL_TABLE, PHYSICAL_METRIC_TABLE } from './metric-table.js';

type Options = Readonly<Record<string, string>>;

/** Whether options say what becomes of rows with equal tags and time. */
export function saysVersions(options: Options): boolean {
  return 'append_mode' in options || 'merge_mode' in options;
}

/**
 * The options of a new table: its own, and what the database says of rows with equal tags and time where they do not. That
 * is fixed in the table, since another answer later would change which rows there are.
 *
 * @param isDefaultMergeMode whether nobody asked for the `merge_mode` among its own.
 */
export function newTableOptions(own: Options, database: Options, isDefaultMergeMode = false): Options {
  const isOfMetrics = PHYSICAL_METRIC_TABLE in own || ON_PHYSICAL_TABLE in own;
  const said = versionsOf(database);
  if (isOfMetrics || said === undefined || (saysVersions(own) && !isDefaultMergeMode)) return own;
  return { ...Object.fromEntries(Object.entries(own).filter(([key]) => key !== 'merge_mode')), ...said };
}

/** Tables that keep all rows have none to merge. */
function versionsOf(options: Options): Options | undefined {
  if (options['append_mode'] === 'true') return { append_mode: 'true' };
  const { merge_mode } = options;
  return merge_mode === undefined ? undefined : { merge_mode };
}
