import type { ColumnIndex, Database, Table } from '#shared/contracts/gen/common';
import { quoteName, quoteText } from '#shared/duckdb/quote';
import { dataType } from '#shared/schema/data-type';
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
  return `CREATE TABLE IF NOT EXISTS ${quoteName(table.name)} (\n${lines.join(',\n')}\n)\n\nENGINE=${engineOf(table)}\n${withBlock(table.options)}`;
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
