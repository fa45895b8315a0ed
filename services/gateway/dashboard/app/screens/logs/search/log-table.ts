import { groupBy } from '../../../core/group-by.js';
import { quotedName, quotedText } from '../../../data/quote.js';
import { LEVEL_IN_LINE } from './levels.js';

/** A column as `information_schema.columns` lists it. */
export interface ColumnRow {
  readonly table_name: string;
  readonly column_name: string;
  readonly greptime_data_type: string;
  /** `TAG`, `FIELD` or `TIMESTAMP`. */
  readonly semantic_type: string;
}

/** A column of a table with lines. */
export interface LogColumn {
  readonly name: string;
  readonly kind: 'text' | 'number' | 'boolean' | 'json' | 'other';
  readonly isTag: boolean;
}

/** A table whose rows have a text and a time. */
export interface LogTable {
  readonly name: string;
  /** Whether it looks like one of logs; others merely have a text. */
  readonly isLog: boolean;
  readonly timeColumn: string;
  readonly lineColumn: string;
  readonly levelColumn: string | undefined;
  /** All but the time, in their order. */
  readonly columns: readonly LogColumn[];
}

const KNOWN_TABLES = ['loki_logs', 'opentelemetry_logs', 'splunk_logs'];
/** Names of columns with lines, the first that exists; as the server chooses it. */
const LINE_COLUMNS = ['line', 'body', 'message', 'msg', 'log', 'event'];
const LEVEL_COLUMNS = ['level', 'severity_text', 'severity', 'log_level', 'loglevel', 'lvl', 'levelname'];

/** Returns the tables that can be searched for lines, those of logs first. */
export function logTables(rows: readonly ColumnRow[]): LogTable[] {
  const byTable = groupBy(rows, (row) => row.table_name);
  const tables = [...byTable].flatMap(([name, columns]) => logTable(name, columns) ?? []);
  return tables.sort((a, b) => Number(b.isLog) - Number(a.isLog) || (a.name < b.name ? -1 : 1));
}

function logTable(name: string, rows: readonly ColumnRow[]): LogTable | undefined {
  const time = rows.find(({ semantic_type: role }) => role === 'TIMESTAMP');
  const columns = rows
    .filter((row) => row !== time)
    .map((row): LogColumn => {
      return { name: row.column_name, kind: kindOf(row.greptime_data_type), isTag: row.semantic_type === 'TAG' };
    });
  const texts = columns.filter(({ kind, isTag }) => !isTag && (kind === 'text' || kind === 'json'));
  const named = LINE_COLUMNS.map((line) => texts.find((column) => column.name === line)).find(Boolean);
  const line = named ?? texts.find(({ kind }) => kind === 'text');
  if (time === undefined || line === undefined) return undefined;
  const level = LEVEL_COLUMNS.map((wanted) => columns.find((column) => isLevel(column, wanted))).find(Boolean);
  const isTrace = columns.some((column) => column.name === 'parent_span_id');
  return {
    name,
    isLog: KNOWN_TABLES.includes(name) || (named !== undefined && !isTrace),
    timeColumn: time.column_name,
    lineColumn: line.name,
    levelColumn: level?.name,
    columns,
  };
}

function isLevel({ name, kind }: LogColumn, wanted: string): boolean {
  return name.toLowerCase() === wanted && (kind === 'text' || kind === 'number');
}

function kindOf(type: string): LogColumn['kind'] {
  if (type === 'String') return 'text';
  if (type === 'Json') return 'json';
  if (type === 'Boolean') return 'boolean';
  return /^(U?Int|Float|Decimal)/.test(type) ? 'number' : 'other';
}

/** Returns the line as SQL of type text. */
export function lineSql({ lineColumn, columns }: LogTable): string {
  const isJson = columns.some(({ name, kind }) => name === lineColumn && kind === 'json');
  return isJson ? `CAST(${quotedName(lineColumn)} AS VARCHAR)` : quotedName(lineColumn);
}

/** Returns the level as SQL: a word in lower case, empty if unknown. Without a column it is looked for in the line. */
export function levelSql(table: LogTable): string {
  const { levelColumn, columns } = table;
  if (levelColumn === undefined) {
    return `lower(regexp_extract(coalesce(${lineSql(table)}, ''), ${quotedText(`(?i)${LEVEL_IN_LINE}`)}, 1))`;
  }
  const own = `lower(coalesce(CAST(${quotedName(levelColumn)} AS VARCHAR), ''))`;
  if (!columns.some(({ name }) => name === 'severity_number')) return own;
  // OpenTelemetry: the text is optional.
  const byNumber = ['trace', 'debug', 'info', 'warn', 'error', 'fatal'].map((level, i) => {
    return `WHEN "severity_number" BETWEEN ${i * 4 + 1} AND ${i * 4 + 4} THEN '${level}'`;
  });
  return `coalesce(nullif(${own}, ''), CASE ${byNumber.join(' ')} ELSE '' END)`;
}

/** A field of a search: its value as SQL. */
export interface LogOperand {
  readonly sql: string;
  readonly kind: LogColumn['kind'];
}

/** Returns a column, or a member of a column with JSON, as SQL; undefined if there is none. */
export function operandOf(name: string, { columns, timeColumn }: LogTable): LogOperand | undefined {
  const column = columns.find((it) => it.name === name);
  if (column !== undefined) return { sql: quotedName(name), kind: column.kind };
  if (name === timeColumn) return { sql: quotedName(name), kind: 'other' };
  const json = columns.find(({ name: own, kind }) => kind === 'json' && name.startsWith(`${own}.`));
  if (json === undefined) return undefined;
  const path = `$."${name.slice(json.name.length + 1).replaceAll('"', '')}"`;
  return { sql: `json_extract_string(${quotedName(json.name)}, ${quotedText(path)})`, kind: 'text' };
}

/** Returns an operand as SQL of type text; null if there is no value. */
export function textSql({ sql, kind }: LogOperand): string {
  return kind === 'text' ? sql : `CAST(${sql} AS VARCHAR)`;
}
