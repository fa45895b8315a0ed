import { AlmanacError } from '#shared/errors/almanac-error';
import type { WriteOptions } from '#shared/write/writer-types';

import type { RowGroup } from '../../../pipelines/rows.js';
import { checkedOption } from '../hints.js';

const TABLE_OPTIONS = ['ttl', 'append_mode', 'merge_mode', 'skip_wal'] as const;

/**
 * Returns the options of a write for a group of rows: their own options take precedence over those of the request.
 *
 * @throws `invalid_arguments` for an option that is not allowed.
 */
export function groupWrite({ options, transform, tables }: RowGroup, write: WriteOptions): WriteOptions {
  const { time } = transform;
  const tableOptions: Record<string, string> = { ...write.tableOptions };
  for (const name of TABLE_OPTIONS) {
    const value = options.get(name);
    if (value !== undefined) tableOptions[name] = checkedOption(name, value);
  }
  if (tableOptions['append_mode'] !== 'false') delete tableOptions['merge_mode'];
  const [table] = tables.values();
  if (table === undefined) throw new AlmanacError('internal', 'group of rows without a table');
  return {
    ...write,
    create: write.create && options.get('auto_create_table') !== 'false',
    timeIndex: { name: time.name, type: time.type.name },
    timeType: time.type.name,
    columns: table.newColumns(),
    tableOptions,
    refusesPartly: true,
  };
}
