import { levelOf, levelsSelected } from './levels.js';
import type { LogLine } from '../log-line.js';
import { operandOf, type LogTable } from './log-table.js';
import { SearchError, type FieldCondition, type SearchNode } from './search.js';
import { isLevelCondition } from './search-sql.js';

/** A search for a live tail: what the server checks, and what the page checks of the lines that it sends. */
export interface TailSearch {
  /** Values of the parameter `where`. */
  readonly where: readonly string[];
  /** Value of the parameter `search`. */
  readonly search: string;
  /** Undefined: the server checks everything. */
  readonly accepts: ((line: LogLine) => boolean) | undefined;
}

type Test = (line: LogLine) => boolean;

/** The server takes up to 50 of each. */
const TERMS_MAX = 50;

/** Divides a search: conditions that must all hold are those of the server, others (`OR`, levels) of the page. @throws SearchError. */
export function tailSearch(node: SearchNode | undefined, table: LogTable): TailSearch {
  const parts = node === undefined ? [] : node.kind === 'and' ? node.of : [node];
  const where: string[] = [];
  const terms: string[] = [];
  const tests: Test[] = [];
  for (const part of parts) {
    const term = termOf(part);
    const condition = whereOf(part, table);
    if (term !== undefined && terms.length < TERMS_MAX) terms.push(term);
    else if (condition !== undefined && where.length < TERMS_MAX) where.push(condition);
    else tests.push(testOf(part, table));
  }
  const accepts = tests.length === 0 ? undefined : (line: LogLine) => tests.every((test) => test(line));
  return { where, search: terms.join(' '), accepts };
}

function termOf(node: SearchNode): string | undefined {
  if (node.kind === 'not') {
    const term = node.of.kind === 'not' ? undefined : termOf(node.of);
    return term === undefined ? undefined : `-${term}`;
  }
  if (node.kind !== 'words' || node.text.includes('"') || node.text.trim() === '') return undefined;
  return `"${node.text}"`;
}

const WHERE_OPERATORS: Readonly<Record<string, string>> = { '~': '=~', '!~': '!~' };

function whereOf(node: SearchNode, table: LogTable): string | undefined {
  if (node.kind !== 'field' || isLevelCondition(node, table) || isVirtualLevel(node, table)) return undefined;
  const { name, operator, value, at } = node;
  const operand = operandOf(name, table);
  if (operand === undefined) throw new SearchError(`table "${table.name}" has no column "${name}"`, at);
  // The server compares texts with < and > as texts, the search line as numbers.
  const isOrder = operator.startsWith('<') || operator.startsWith('>');
  if ((isOrder && operand.kind !== 'number') || /[=!<>~]/.test(name)) return undefined;
  return `${name}${WHERE_OPERATORS[operator] ?? operator}${value}`;
}

function isVirtualLevel({ name }: FieldCondition, table: LogTable): boolean {
  return name === 'level' && !table.columns.some((column) => column.name === 'level');
}

function testOf(node: SearchNode, table: LogTable): Test {
  switch (node.kind) {
    case 'words': {
      const term = node.text.toLowerCase();
      return ({ text }) => hasTerm(text.toLowerCase(), term);
    }
    case 'field':
      return fieldTest(node, table);
    case 'not': {
      const test = testOf(node.of, table);
      return (line) => !test(line);
    }
    case 'and': {
      const tests = node.of.map((part) => testOf(part, table));
      return (line) => tests.every((test) => test(line));
    }
    case 'or': {
      const tests = node.of.map((part) => testOf(part, table));
      return (line) => tests.some((test) => test(line));
    }
  }
}

/** Whether a text has a term that is delimited by anything but letters and digits. Both are in lower case. */
export function hasTerm(text: string, term: string): boolean {
  if (term === '') return true;
  for (let at = text.indexOf(term); at >= 0; at = text.indexOf(term, at + 1)) {
    if (!isWordPart(text[at - 1]) && !isWordPart(text[at + term.length])) return true;
  }
  return false;
}

function isWordPart(unit: string | undefined): boolean {
  return unit !== undefined && /[\p{L}\p{N}]/u.test(unit);
}

function fieldTest(condition: FieldCondition, table: LogTable): Test {
  const { name, operator, value, at } = condition;
  const level = levelOf(value);
  if (level !== undefined && isLevelCondition(condition, table)) {
    const levels = levelsSelected(operator, level);
    return (line) => (line.level === undefined ? operator === '!=' : levels.includes(line.level));
  }
  if (!isVirtualLevel(condition, table) && operandOf(name, table) === undefined) {
    throw new SearchError(`table "${table.name}" has no column "${name}"`, at);
  }
  const read = (line: LogLine): string =>
    isVirtualLevel(condition, table) ? (line.level ?? '') : fieldText(line, name, table);
  if (operator === '~' || operator === '!~') {
    const pattern = patternOf(value, at);
    return (line) => pattern.test(read(line)) === (operator === '~');
  }
  return (line) => isTrue(read(line), operator, value);
}

/** Returns the value of a column, or of a member of one with JSON; empty if there is none. */
export function fieldText({ fields }: LogLine, name: string, { columns }: LogTable): string {
  const own = fields.get(name);
  if (own !== undefined) return own;
  const json = columns.find((column) => column.kind === 'json' && name.startsWith(`${column.name}.`));
  const text = json === undefined ? undefined : fields.get(json.name);
  if (json === undefined || text === undefined) return '';
  try {
    const value: unknown = (JSON.parse(text) as Record<string, unknown>)[name.slice(json.name.length + 1)];
    if (value === undefined || value === null) return '';
    return typeof value === 'string' ? value : JSON.stringify(value);
  } catch {
    return '';
  }
}

/** Returns a regular expression in the syntax of the server for the browser. @throws SearchError if it has no such one. */
function patternOf(text: string, at: number): RegExp {
  const [, flags = ''] = /^\(\?([is]+)\)/.exec(text) ?? [];
  const pattern = flags === '' ? text : text.slice(flags.length + 3);
  try {
    return new RegExp(pattern, `u${flags}`);
  } catch (error) {
    throw new SearchError(`"${text.slice(0, 100)}" is no regular expression: ${(error as Error).message}`, at);
  }
}

function isTrue(text: string, operator: FieldCondition['operator'], value: string): boolean {
  if (operator === '=') return text === value;
  if (operator === '!=') return text !== value;
  const areNumbers = value.trim() !== '' && Number.isFinite(Number(value));
  if (areNumbers && (text.trim() === '' || !Number.isFinite(Number(text)))) return false;
  const [left, right] = areNumbers ? [Number(text), Number(value)] : [text, value];
  switch (operator) {
    case '>':
      return left > right;
    case '>=':
      return left >= right;
    case '<':
      return left < right;
    default:
      return left <= right;
  }
}
