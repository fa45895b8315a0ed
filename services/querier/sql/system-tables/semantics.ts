import type { Table } from '#shared/contracts/gen/common';

import {
  readableTables,
  systemTable,
  type SystemRow,
  type SystemTable,
  type SystemTableSource,
} from './system-table.js';

/** Options of tables that say what their rows mean, by either name of the product. */
const SEMANTIC_OPTION = /^(?:greptime|almanac)\.semantic\.(.+)$/;

/** Options with a column of their own. */
const COLUMNS = new Set(['signal_type', 'source', 'source_version', 'pipeline', 'metadata_quality']);

/** The table of what the rows of tables mean. */
export function semanticTables(): SystemTable[] {
  return [
    systemTable(
      'information_schema',
      'table_semantics',
      'table_catalog, table_schema, table_name String, table_id UInt32, signal_type?, source?, source_version?, ' +
        'pipeline?, metadata_quality?, semantic_options? String',
      tableSemantics,
    ),
  ];
}

async function* tableSemantics(source: SystemTableSource): AsyncIterable<SystemRow> {
  for await (const table of readableTables(source)) {
    const options = semanticOptions(table);
    if (options.length === 0) continue;
    const other = options.filter(([key]) => !COLUMNS.has(key));
    yield {
      table_catalog: source.catalogName,
      table_schema: table.database,
      table_name: table.name,
      table_id: table.tableId,
      ...Object.fromEntries(options.filter(([key]) => COLUMNS.has(key))),
      semantic_options: other.length === 0 ? null : JSON.stringify(Object.fromEntries(other)),
    };
  }
}

/** Returns the options without their prefix, by name. */
function semanticOptions({ options }: Table): (readonly [string, string])[] {
  return Object.entries(options)
    .flatMap(([option, value]) => {
      const key = SEMANTIC_OPTION.exec(option)?.[1];
      return key === undefined ? [] : [[key.replace(/^metric\.(?=metadata_quality$)/, ''), value] as const];
    })
    .sort(([a], [b]) => (a < b ? -1 : 1));
}
