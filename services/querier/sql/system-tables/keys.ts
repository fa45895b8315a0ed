import type { Table } from '#shared/contracts/gen/common';
import { timeIndexOf } from '#shared/schema/table-schema';

import {
  readableTables,
  systemTable,
  type SystemRow,
  type SystemTable,
  type SystemTableSource,
} from './system-table.js';

const DATABASE = 'information_schema';

/** One column of a key or an index of a table. */
interface KeyPart {
  /** `PRIMARY`, `TIME` or the kind of an index: `FULLTEXT`, `SKIPPING`, `INVERTED`. */
  readonly kind: string;
  readonly column: string;
  /** Position in the key, from 1. */
  readonly position: number;
}

/** How each kind of index stores its entries. */
const STORED_AS: Readonly<Record<string, string>> = {
  PRIMARY: 'dense',
  INVERTED: 'inverted',
  SKIPPING: 'bloom_filter',
  FULLTEXT: 'fulltext_bloom',
};

/** Tables of primary keys, time indexes and indexes. */
export function keyTables(): SystemTable[] {
  return [
    systemTable(
      DATABASE,
      'key_column_usage',
      'constraint_catalog, constraint_schema, constraint_name, table_catalog, real_table_catalog, table_schema, ' +
        'table_name, column_name String, ordinal_position, position_in_unique_constraint? UInt32, ' +
        'referenced_table_schema?, referenced_table_name?, referenced_column_name?, greptime_index_type? String',
      keyColumnUsage,
    ),
    systemTable(
      DATABASE,
      'table_constraints',
      'constraint_catalog, constraint_schema, constraint_name, table_schema, table_name, constraint_type, enforced String',
      tableConstraints,
    ),
    systemTable(
      DATABASE,
      'statistics',
      'table_catalog, table_schema, table_name String, non_unique Int64, index_schema, index_name String, ' +
        'seq_in_index Int64, column_name, collation? String, cardinality?, sub_part? Int64, packed?, nullable, ' +
        'index_type, comment, index_comment, is_visible, expression?, greptime_index_type? String',
      statistics,
    ),
  ];
}

function keyPartsOf(table: Table): KeyPart[] {
  return [
    ...table.primaryKey.map((column, i) => ({ kind: 'PRIMARY', column, position: i + 1 })),
    { kind: 'TIME', column: timeIndexOf(table).name, position: 1 },
    ...table.columns.flatMap(({ name, indexes }) => indexes.map(({ kind }) => ({ kind, column: name, position: 1 }))),
  ];
}

async function* keyColumnUsage(source: SystemTableSource): AsyncIterable<SystemRow> {
  for await (const table of readableTables(source)) {
    for (const { kind, column, position } of keyPartsOf(table)) {
      yield {
        constraint_catalog: 'def',
        constraint_schema: table.database,
        constraint_name: kind === 'PRIMARY' ? kind : `${kind} INDEX`,
        table_catalog: 'def',
        real_table_catalog: source.catalogName,
        table_schema: table.database,
        table_name: table.name,
        column_name: column,
        ordinal_position: position,
        greptime_index_type: STORED_AS[kind] ?? null,
      };
    }
  }
}

async function* tableConstraints(source: SystemTableSource): AsyncIterable<SystemRow> {
  for await (const table of readableTables(source)) {
    const common = {
      constraint_catalog: 'def',
      constraint_schema: table.database,
      table_schema: table.database,
      table_name: table.name,
      enforced: 'YES',
    };
    if (table.primaryKey.length > 0) {
      yield { ...common, constraint_name: 'PRIMARY', constraint_type: 'PRIMARY KEY' };
    }
    yield { ...common, constraint_name: 'TIME INDEX', constraint_type: 'TIME INDEX' };
  }
}

async function* statistics(source: SystemTableSource): AsyncIterable<SystemRow> {
  for await (const table of readableTables(source)) {
    for (const { kind, column, position } of keyPartsOf(table)) {
      yield {
        table_catalog: source.catalogName,
        table_schema: table.database,
        table_name: table.name,
        non_unique: kind === 'PRIMARY' ? 0 : 1,
        index_schema: table.database,
        index_name: indexName(kind, column),
        seq_in_index: position,
        column_name: column,
        collation: 'A',
        nullable: table.columns.some(({ name, nullable }) => name === column && nullable) ? 'YES' : '',
        index_type: kind,
        comment: '',
        index_comment: '',
        is_visible: 'YES',
        greptime_index_type: STORED_AS[kind] ?? null,
      };
    }
  }
}

function indexName(kind: string, column: string): string {
  if (kind === 'PRIMARY') return kind;
  return kind === 'TIME' ? 'TIME INDEX' : `${kind}_INDEX_${column}`;
}
