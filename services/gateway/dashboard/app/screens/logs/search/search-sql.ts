import { quotedText } from '../../../data/quote.js';
import { levelOf, levelsSelected, wordsOf } from './levels.js';
import { levelSql, lineSql, operandOf, textSql, type LogTable } from './log-table.js';
import { SearchError, type FieldCondition, type SearchNode } from './search.js';

const NUMBER = /^[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d{1,3})?$/;
const NAMES_SHOWN = 12;

/** Returns a search as a condition of SQL. Words are found as `/v1/logs` finds them. @throws SearchError for an unknown field. */
export function searchSql(node: SearchNode, table: LogTable): string {
  switch (node.kind) {
    case 'words':
      return `coalesce(matches_term(lower(${lineSql(table)}), ${quotedText(node.text.toLowerCase())}), FALSE)`;
    case 'field':
      return conditionSql(node, table);
    case 'not':
      return `NOT ${searchSql(node.of, table)}`;
    case 'and':
    case 'or':
      return `(${node.of.map((part) => searchSql(part, table)).join(node.kind === 'and' ? ' AND ' : ' OR ')})`;
  }
}

/** Whether a condition compares levels by what they mean: `level>=warn`, `level=error` for `ERR` too. */
export function isLevelCondition({ name, operator, value }: FieldCondition, { levelColumn }: LogTable): boolean {
  return (name === 'level' || name === levelColumn) && !operator.endsWith('~') && levelOf(value) !== undefined;
}

function conditionSql(condition: FieldCondition, table: LogTable): string {
  const { name, operator, value, at } = condition;
  const level = levelOf(value);
  if (level !== undefined && isLevelCondition(condition, table)) {
    const words = wordsOf(levelsSelected(operator === '!=' ? '=' : operator, level)).map(quotedText);
    if (words.length === 0) return 'FALSE';
    return `${levelSql(table)} ${operator === '!=' ? 'NOT IN' : 'IN'} (${words.join(', ')})`;
  }
  const operand = operandOf(name, table);
  if (operand === undefined && name === 'level') return compared(levelSql(table), operator, value);
  if (operand === undefined) throw new SearchError(unknownField(name, table), at);
  if (operand.kind === 'number' && !operator.endsWith('~') && value !== '') {
    return comparedNumber(operand.sql, condition);
  }
  return compared(textSql(operand), operator, value);
}

function comparedNumber(sql: string, { name, operator, value, at }: FieldCondition): string {
  if (!NUMBER.test(value)) throw new SearchError(`"${name}" is a number, and "${value.slice(0, 100)}" is not`, at);
  if (operator === '!=') return `(${sql} <> ${value} OR ${sql} IS NULL)`;
  return `coalesce(${sql} ${operator} ${value}, FALSE)`;
}

/** Compares a text; the order of numbers is that of numbers, wherever they are stored. */
function compared(text: string, operator: FieldCondition['operator'], value: string): string {
  const present = `coalesce(${text}, '')`;
  switch (operator) {
    case '~':
      return `regexp_matches(${present}, ${quotedText(value)})`;
    case '!~':
      return `NOT regexp_matches(${present}, ${quotedText(value)})`;
    case '=':
      return value === '' ? `${present} = ''` : `coalesce(${text} = ${quotedText(value)}, FALSE)`;
    case '!=':
      return `${present} <> ${quotedText(value)}`;
    default:
      if (NUMBER.test(value)) return `coalesce(TRY_CAST(${text} AS DOUBLE) ${operator} ${value}, FALSE)`;
      return `${present} ${operator} ${quotedText(value)}`;
  }
}

function unknownField(name: string, { name: table, columns }: LogTable): string {
  const names = columns.slice(0, NAMES_SHOWN).map((column) => column.name);
  const rest = columns.length > NAMES_SHOWN ? ` and ${columns.length - NAMES_SHOWN} more` : '';
  return `table "${table}" has no column "${name}": it has ${names.join(', ')}${rest}`;
}
