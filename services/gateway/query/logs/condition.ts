import type { Column, Table } from '#shared/contracts/gen/common';
import { quoteName, quoteText } from '#shared/duckdb/quote';
import { AlmanacError } from '#shared/errors/almanac-error';

import { LinearRegex } from '../../logql/linear-regex.js';
import { lineColumnOf } from '../../logql/source/log-table.js';

const OPERATOR = /=~|!~|!=|>=|<=|=|>|</;
const NUMBERS = /^(?:U?Int(?:8|16|32|64)|Float(?:32|64)|Decimal.*)$/;
const NUMBER = /^[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d{1,3})?$/;
const TERMS_MAX = 50;

/** Returns a condition `column=value` as SQL. @throws `invalid_arguments`, `column_not_found`. */
export function whereSql(text: string, table: Table): string {
  const match = OPERATOR.exec(text);
  if (match === null || match.index === 0) {
    throw invalid(`condition "${shown(text)}" is not a column, one of = != =~ !~ > >= < <=, and a value`);
  }
  const [op] = match;
  const value = text.slice(match.index + op.length);
  const { sql, isNumber } = operand(text.slice(0, match.index).trim(), table);
  if (op === '=~' || op === '!~') {
    // Compiled for its errors: the engine has the same syntax.
    void new LinearRegex(value);
    return `${op === '!~' ? 'NOT ' : ''}regexp_matches(coalesce(${asText(sql, isNumber)}, ''), ${quoteText(value)})`;
  }
  if (isNumber && value !== '') {
    if (!NUMBER.test(value)) throw invalid(`condition "${shown(text)}" compares a number with a text`);
    return op === '!=' ? `(${sql} <> ${value} OR ${sql} IS NULL)` : `${sql} ${op} ${value}`;
  }
  if (op === '=' && value !== '') return `${asText(sql, isNumber)} = ${quoteText(value)}`;
  return `coalesce(${asText(sql, isNumber)}, '') ${op === '!=' ? '<>' : op} ${quoteText(value)}`;
}

function asText(sql: string, isNumber: boolean): string {
  return isNumber ? `CAST(${sql} AS VARCHAR)` : sql;
}

/** Returns a column, or a member of a column with JSON, as SQL. @throws `column_not_found`. */
function operand(name: string, table: Table): { sql: string; isNumber: boolean } {
  const column = table.columns.find((it) => it.name === name);
  if (column !== undefined) return { sql: columnSql(column), isNumber: NUMBERS.test(column.type) };
  const json = table.columns.find((it) => it.type === 'Json' && name.startsWith(`${it.name}.`));
  if (json === undefined) {
    throw new AlmanacError('column_not_found', `table "${table.name}" has no column "${shown(name)}"`);
  }
  const path = `$."${name.slice(json.name.length + 1).replaceAll('"', '')}"`;
  return { sql: `json_extract_string(${quoteName(json.name)}, ${quoteText(path)})`, isNumber: false };
}

function columnSql({ name, type }: Column): string {
  return type === 'String' || NUMBERS.test(type) ? quoteName(name) : `CAST(${quoteName(name)} AS VARCHAR)`;
}

const TERM = /(-?)(?:"([^"]*)"|(\S+))/g;

/**
 * Returns a search for words as SQL: each word and each phrase in quotes must occur, those after `-` must not. Letter
 * case is ignored.
 *
 * @throws `invalid_arguments`.
 */
export function wordSearchSql(text: string, table: Table): string[] {
  const line = lineColumnOf(table);
  if (line === undefined) throw invalid(`table "${table.name}" has no column of texts to search`);
  const column = line.type === 'Json' ? `CAST(${quoteName(line.name)} AS VARCHAR)` : quoteName(line.name);
  const conditions: string[] = [];
  for (const [, minus, phrase, word] of text.matchAll(TERM)) {
    const term = (phrase ?? word).trim().toLowerCase();
    if (term === '') continue;
    if (word?.startsWith('"')) {
      throw invalid(`phrase ${shown(word)} of "search" has no closing quote: write "words of the phrase"`);
    }
    if (conditions.length === TERMS_MAX) throw invalid(`a search has at most ${TERMS_MAX} terms`);
    const found = `matches_term(lower(${column}), ${quoteText(term)})`;
    conditions.push(minus === '-' ? `NOT coalesce(${found}, FALSE)` : found);
  }
  return conditions;
}

function shown(text: string): string {
  return text.slice(0, 100);
}

function invalid(text: string): AlmanacError {
  return new AlmanacError('invalid_arguments', text);
}
