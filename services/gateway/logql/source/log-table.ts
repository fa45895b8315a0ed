import type { Column, Table } from '#shared/contracts/gen/common';
import { quoteName, quoteText } from '#shared/duckdb/quote';
import { AlmanacError } from '#shared/errors/almanac-error';

import { labelName } from '../line/row-labels.js';

/** A column whose values are labels of the line: its members if it is JSON, else one label. */
export interface MetadataColumn {
  readonly column: string;
  readonly label: string;
  readonly isJson: boolean;
  /** Whether the names of members are label names already. */
  readonly isLoki: boolean;
}

/** A table of lines as LogQL sees it. */
export interface LogTable {
  readonly name: string;
  readonly timeColumn: string;
  /** The line as SQL. */
  readonly line: string;
  readonly lineColumn: string;
  /** Labels of the stream: the tags. */
  readonly tags: readonly { readonly column: string; readonly label: string }[];
  readonly metadata: readonly MetadataColumn[];
}

/** Names of columns with lines, the first that exists. */
const LINE_COLUMNS = ['line', 'body', 'message', 'msg', 'log', 'event'];
const LOKI_METADATA = 'structured_metadata';

/** Returns the name of the column with the lines; undefined if there is none. */
export function lineColumnOf({ columns }: Table): Column | undefined {
  const fields = columns.filter(({ kind, type }) => kind === 'field' && (type === 'String' || type === 'Json'));
  const named = LINE_COLUMNS.map((name) => fields.find((column) => column.name === name));
  return named.find((column) => column !== undefined) ?? fields.find(({ type }) => type === 'String');
}

/** @throws `invalid_arguments` if the table has no column for lines. */
export function logTableOf(table: Table): LogTable {
  const line = lineColumnOf(table);
  const time = table.columns.find(({ kind }) => kind === 'time');
  if (line === undefined || time === undefined) {
    throw new AlmanacError('invalid_arguments', `table "${table.name}" has no column of texts: it does not hold logs`);
  }
  const fields = table.columns.filter((column) => column.kind === 'field' && column !== line);
  return {
    name: table.name,
    timeColumn: time.name,
    line: line.type === 'Json' ? `CAST(${quoteName(line.name)} AS VARCHAR)` : quoteName(line.name),
    lineColumn: line.name,
    tags: table.columns
      .filter(({ kind }) => kind === 'tag')
      .map(({ name }) => ({ column: name, label: labelName(name) })),
    metadata: fields
      .filter(({ type }) => type !== 'Binary')
      .map(({ name, type }) => {
        return { column: name, label: labelName(name), isJson: type === 'Json', isLoki: name === LOKI_METADATA };
      }),
  };
}

/** Returns the value of a label as SQL, empty if there is none; undefined if SQL cannot compute it. */
export function labelSql(table: LogTable, label: string): string | undefined {
  if (label.endsWith('_extracted')) return undefined;
  const parts = table.tags.filter((tag) => tag.label === label).map(({ column }) => quoteName(column));
  for (const { column, label: own, isJson, isLoki } of table.metadata) {
    if (!isJson) {
      if (own === label) parts.push(`CAST(${quoteName(column)} AS VARCHAR)`);
      continue;
    }
    // Members of other objects have names that become label names only when they are read.
    if (!isLoki) return undefined;
    parts.push(`json_extract_string(${quoteName(column)}, ${quoteText(`$."${label}"`)})`);
  }
  return parts.length === 0 ? "''" : `coalesce(${parts.join(', ')}, '')`;
}

/** Returns nanoseconds as a literal of SQL. */
export function timeSql(ns: bigint): string {
  const bounded = ns > TIME_NS_MAX ? TIME_NS_MAX : ns < -TIME_NS_MAX ? -TIME_NS_MAX : ns;
  const belowNs = ((bounded % SECOND_NS) + SECOND_NS) % SECOND_NS;
  const seconds = Number((bounded - belowNs) / SECOND_NS);
  return `'${new Date(seconds * 1_000).toISOString().slice(0, 19)}.${String(belowNs).padStart(9, '0')}Z'`;
}

const SECOND_NS = 1_000_000_000n;
/** The last whole second that 64 bits of nanoseconds hold. */
const TIME_NS_MAX = 9_223_372_035n * SECOND_NS;
