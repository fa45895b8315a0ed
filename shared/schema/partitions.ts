/**
 * Partition rules of a table, which users define and see.
 *
 * Rows are assigned to regions by their series, so that rules have no effect on where a row is. They are stored with the
 * options of the table, under a key that users cannot set.
 */
const PARTITION_KEY = 'partition.rules';

/** Columns and one rule for each partition; no rule: one partition. */
export interface Partitions {
  readonly columns: readonly string[];
  /** SQL conditions, as they are shown. */
  readonly rules: readonly string[];
}

type Options = Readonly<Record<string, string>>;

/** Returns the partition rules of a table, or undefined. */
export function partitionsOf(options: Options): Partitions | undefined {
  const text = options[PARTITION_KEY];
  return text === undefined ? undefined : (JSON.parse(text) as Partitions);
}

/** Returns the options with these partition rules. */
export function withPartitions(options: Options, { columns, rules }: Partitions): Options {
  return { ...options, [PARTITION_KEY]: JSON.stringify({ columns, rules }) };
}

/** Returns the options without partition rules, for display. */
export function withoutPartitions(options: Options): Options {
  return Object.fromEntries(Object.entries(options).filter(([key]) => key !== PARTITION_KEY));
}
