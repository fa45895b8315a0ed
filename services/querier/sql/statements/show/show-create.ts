import type { ColumnIndex, Database, Table } from '#shared/contracts/gen/common';
import { quoteName, quoteText } from '#shared/duckdb/quote';
import { dataType } from '#shared/schema/data-type';
import { isExternal } from '#shared/schema/external-table';
import { partitionsOf, withoutPartitions } from '#shared/schema/partitions';
import { timeIndexOf } from '#shared/schema/table-schema';

import { engineOf } from '../../system-tables/table-text.js';

/** Returns the statement that creates a table like this one; it is valid input. */
export function createTableSql(table: Table): string {
  const lines = table.columns.map(({ name, type, nullable, defaultSql, comment, indexes }) => {
    const byDefault = defaultSql === '' ? '' : ` DEFAULT ${defaultSql}`;
    const remark = comment === '' ? '' : ` COMMENT ${quoteText(comment)}`;
    return `  ${quoteName(name)} ${dataType(type).sql} ${nullable ? 'NULL' : 'NOT NULL'}${byDefault}${remark}${indexes.map(indexClause).join('')}`;
  });
  lines.push(`  TIME INDEX (${quoteName(timeIndexOf(table).name)})`);
  if (table.primaryKey.length > 0) lines.push(`  PRIMARY KEY (${table.primaryKey.map(quoteName).join(', ')})`);
  const kind = isExternal(table) ? 'EXTERNAL TABLE' : 'TABLE';
  return `CREATE ${kind} IF NOT EXISTS ${quoteName(table.name)} (\n${lines.join(',\n')}\n)\n${partitionBlock(table)}\nENGINE=${engineOf(table)}\n${withBlock(shownOptions(table))}`;
}

/** The table's options, and how long its rows live even if its database says so. */
function shownOptions({ options, ttl }: Table): Readonly<Record<string, string>> {
  const shown = withoutPartitions(options);
  return ttl === '' ? shown : { ...shown, ttl };
}

function partitionBlock({ options }: Table): string {
  const partitions = partitionsOf(options);
  if (partitions === undefined) return '';
  const columns = partitions.columns.map(quoteName).join(', ');
  return `PARTITION ON COLUMNS (${columns}) (\n${partitions.rules.map((rule) => `  ${rule}`).join(',\n')}\n)`;
}

function indexClause({ kind, options }: ColumnIndex): string {
  const given = Object.keys(options).sort();
  const list = given.map((name) => `${name} = ${quoteText(options[name])}`).join(', ');
  return ` ${kind} INDEX${list === '' ? '' : ` WITH(${list})`}`;
}

/** Returns the statement that creates a database like this one. */
export function createDatabaseSql(database: Database): string {
  const name = /^[a-z_][a-z0-9_]*$/.test(database.name) ? database.name : quoteName(database.name);
  return `CREATE DATABASE IF NOT EXISTS ${name}\n${withBlock(database.options)}`.trimEnd();
}

function withBlock(options: Readonly<Record<string, string>>): string {
  const keys = Object.keys(options).sort();
  if (keys.length === 0) return '';
  // The word COMMENT begins a clause of its own.
  const keySql = (key: string): string => (/^(?!comment$)[a-z_]+$/.test(key) ? key : quoteText(key));
  const lines = keys.map((key) => `  ${keySql(key)} = ${quoteText(options[key])}`);
  return `WITH(\n${lines.join(',\n')}\n)`;
}
