import type { Table } from '#shared/contracts/gen/common';
import { AlmanacError } from '#shared/errors/almanac-error';
import type { WriteOptions } from '#shared/write/writer-types';

import { requestError } from '../../../pipelines/build-error.js';
import { mismatchText, type RowColumn, type RowGroup } from '../../../pipelines/rows.js';
import { checkedOption } from '../hints.js';

const TABLE_OPTIONS = ['ttl', 'append_mode', 'merge_mode', 'skip_wal'] as const;

/**
 * Checks that the groups of a request fit each other and the tables that exist, so that none is written if one is refused.
 *
 * @throws `table_not_found` or `invalid_arguments`.
 */
export function checkGroups(groups: readonly RowGroup[], existing: readonly Table[], write: WriteOptions): void {
  const known = new Set(existing.map(({ name }) => name));
  const types = new Map<string, Map<string, string>>();
  for (const { options, tables } of groups) {
    const creates = write.create && options.get('auto_create_table') !== 'false';
    for (const [name, table] of tables) {
      if (table.builder.rowCount === 0) continue;
      if (!creates && !known.has(name)) throw notCreated(name);
      checkTypes(table.columns, mapAt(types, name));
    }
  }
}

/** Groups of rows of one table must agree about its columns. */
function checkTypes(columns: readonly RowColumn[], types: Map<string, string>): void {
  for (const { name, type, field, use } of columns) {
    if (field === undefined && use === 'field') continue;
    const earlier = types.get(name);
    if (earlier === undefined) types.set(name, type.name);
    else if (earlier !== type.name && use !== 'time') throw requestError(mismatchText(name, earlier, type.name));
  }
}

function notCreated(name: string): AlmanacError {
  const text = `Table \`${name}\` does not exist, and \`auto_create_table\` hint is disabled`;
  return new AlmanacError('table_not_found', text);
}

function mapAt(maps: Map<string, Map<string, string>>, key: string): Map<string, string> {
  let map = maps.get(key);
  if (map === undefined) maps.set(key, (map = new Map<string, string>()));
  return map;
}

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
