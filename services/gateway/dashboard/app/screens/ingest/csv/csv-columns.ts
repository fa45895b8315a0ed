import type { ColumnRole, SchemaTable } from '../../../data/table-schema.js';
import { quotedName } from '../../../data/quote.js';
import { guessEpoch, guessType, isTimeType, sqlValue, type CsvType } from './csv-values.js';

/** What becomes of a column of a file. */
export interface CsvColumn {
  /** Its place in a row of the file, from 0. */
  readonly place: number;
  /** Its name in the file; '' if the file has no names. */
  readonly header: string;
  /** Its column of the table; undefined: it is left out. */
  readonly target: TargetColumn | undefined;
}

/** A column of the table that rows are written to. */
export interface TargetColumn {
  readonly name: string;
  /** A type of SQL, or of the schema. */
  readonly type: string;
  readonly role: ColumnRole;
}

/** A row that was not stored. */
export interface RejectedRow {
  /** Number of the row, from 1, as in the preview; the names do not count. */
  readonly row: number;
  readonly reason: string;
  readonly cells: readonly string[];
}

/** Texts with fewer different values than this share of the rows are likely tags. */
const TAG_SHARE_MAX = 0.5;
const TAG_NAMES = /^(host|hostname|region|zone|service|device|sensor|id|name|city|country|instance|job|env)$|_id$/i;
const TIME_NAMES = /^(ts|time|timestamp|date|datetime|t|_time|@timestamp|created_at)$/i;

/** Proposes the columns of a new table for a file, from its first rows. */
export function guessColumns(names: readonly string[] | undefined, rows: readonly (readonly string[])[]): CsvColumn[] {
  const count = Math.max(names?.length ?? 0, ...rows.map((row) => row.length));
  const used = new Set<string>();
  const columns = Array.from({ length: count }, (_, place) => {
    const header = names?.[place] ?? '';
    const texts = rows.map((row) => row[place] ?? '');
    const name = freeName(header.trim() || `column_${place + 1}`, used);
    return { place, header, texts, name, type: guessType(texts) };
  });
  const time = timeColumnOf(columns);
  return columns.map(({ place, header, texts, name, type }) => {
    if (place === time?.place) return { place, header, target: { name, type: time.type, role: 'time index' } };
    return { place, header, target: { name, type, role: isTag(name, type, texts) ? 'tag' : 'field' } };
  });
}

interface GuessedColumn {
  readonly place: number;
  readonly texts: readonly string[];
  readonly name: string;
  readonly type: CsvType;
}

function timeColumnOf(
  columns: readonly GuessedColumn[],
): { readonly place: number; readonly type: CsvType } | undefined {
  const named = columns.filter(({ name }) => TIME_NAMES.test(name));
  for (const { place, type, texts } of [...named, ...columns]) {
    if (isTimeType(type)) return { place, type };
    const epoch = type === 'BIGINT' ? guessEpoch(texts) : undefined;
    if (epoch !== undefined) return { place, type: epoch };
  }
  return undefined;
}

function isTag(name: string, type: string, texts: readonly string[]): boolean {
  if (type !== 'STRING') return false;
  return TAG_NAMES.test(name) || new Set(texts).size <= texts.length * TAG_SHARE_MAX;
}

function freeName(wanted: string, used: Set<string>): string {
  let name = wanted;
  for (let i = 2; used.has(name.toLowerCase()); i++) name = `${wanted}_${i}`;
  used.add(name.toLowerCase());
  return name;
}

/** Assigns the columns of a file to those of a table by their names, or by their order if the file has no names. */
export function matchColumns(columns: readonly CsvColumn[], table: SchemaTable): CsvColumn[] {
  const hasNames = columns.some(({ header }) => header !== '');
  return columns.map(({ place, header }) => {
    const wanted = header.trim().toLowerCase();
    const target = hasNames ? table.columns.find(({ name }) => name.toLowerCase() === wanted) : table.columns[place];
    return { place, header, target };
  });
}

/** Says what keeps the columns from being written; '' if nothing does. */
export function problemOf(columns: readonly CsvColumn[]): string {
  const targets = columns.flatMap(({ target }) => target ?? []);
  if (targets.filter(({ role }) => role === 'time index').length !== 1) {
    return 'Exactly one column must be the time index.';
  }
  if (targets.some(({ role, type }) => role === 'time index' && !isTimeType(type))) {
    return 'The time index must have a type of times.';
  }
  if (targets.some(({ name }) => name.trim() === '')) return 'Every column needs a name.';
  const names = targets.map(({ name }) => name.toLowerCase());
  const twice = names.find((name, i) => names.indexOf(name) !== i);
  return twice === undefined ? '' : `Two columns have the name ${twice}.`;
}

/** Returns the statement that makes a table for the columns. @param keepsAll whether rows with the same tags and time are all kept. */
export function createTableSql(table: string, columns: readonly CsvColumn[], keepsAll: boolean): string {
  const targets = columns.flatMap(({ target }) => target ?? []);
  const lines = targets.map(({ name, type, role }) => {
    return `  ${quotedName(name)} ${type}${role === 'time index' ? ' TIME INDEX' : ''}`;
  });
  const tags = targets.filter(({ role }) => role === 'tag').map(({ name }) => quotedName(name));
  if (tags.length > 0) lines.push(`  PRIMARY KEY (${tags.join(', ')})`);
  const options = keepsAll ? ` WITH (append_mode = 'true')` : '';
  return `CREATE TABLE ${quotedName(table)} (\n${lines.join(',\n')}\n)${options}`;
}

/** Whether some rows have the same tags and time: without `append_mode` only the last of them is kept. */
export function hasEqualKeys(columns: readonly CsvColumn[], rows: readonly (readonly string[])[]): boolean {
  const keys = columns.filter(({ target }) => target !== undefined && target.role !== 'field');
  return new Set(rows.map((row) => JSON.stringify(keys.map(({ place }) => row[place] ?? '')))).size < rows.length;
}

/** Returns the beginning of an INSERT of the columns. */
export function insertSql(table: string, columns: readonly CsvColumn[]): string {
  const names = columns.flatMap(({ target }) => (target === undefined ? [] : [quotedName(target.name)]));
  return `INSERT INTO ${quotedName(table)} (${names.join(', ')}) VALUES `;
}

/** Returns a row as the values of an INSERT, or why that cannot be. */
export function rowSql(
  cells: readonly string[],
  columns: readonly CsvColumn[],
): { readonly sql: string; readonly reason: '' } | { readonly reason: string } {
  if (cells.length > columns.length) return { reason: `it has ${cells.length} values for ${columns.length} columns` };
  const values: string[] = [];
  for (const { place, target } of columns) {
    if (target === undefined) continue;
    const text = cells[place] ?? '';
    const value = sqlValue(text, target.type);
    if (value === undefined) {
      return { reason: `${target.name} is "${text.slice(0, 100)}", which is no ${target.type}` };
    }
    if (value === 'NULL' && target.role === 'time index') return { reason: `${target.name}, the time index, is empty` };
    values.push(value);
  }
  return { sql: `(${values.join(', ')})`, reason: '' };
}
