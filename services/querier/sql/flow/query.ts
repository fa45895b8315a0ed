import { lexSql, Kind, type Tokens } from '../syntax/lex.js';
import { VOLATILE_FUNCTIONS, VOLATILE_WORDS } from '../functions/native.js';
import type { QueryText } from '../syntax/query-text.js';

/** Returns the query of a flow for the engine: a TQL statement becomes a query over its result. */
export function flowQuery(text: string): QueryText {
  const tokens = lexSql(text);
  if (!tokens.isWord(0, 'TQL')) return { tokens, from: 0, to: tokens.count };
  const wrapped = lexSql(`SELECT * FROM (${text}\n)`);
  return { tokens: wrapped, from: 0, to: wrapped.count };
}

/** Whether a query evaluates PromQL. */
export function hasTql({ tokens, from, to }: QueryText): boolean {
  for (let i = from; i < to; i++) if (tokens.kind(i) === Kind.promql) return true;
  return false;
}

/** Whether the result of a query depends on when it runs. */
export function isVolatile({ tokens, from, to }: QueryText): boolean {
  for (let i = from; i < to; i++) {
    const isWord = tokens.kind(i) === Kind.word;
    // A function may be qualified by its schema, a column by its table.
    if (tokens.isSymbol(i + 1, '(') && (isWord || tokens.kind(i) === Kind.quoted)) {
      const name = tokens.name(i).toLowerCase();
      if (VOLATILE_FUNCTIONS.has(name) || (name === 'age' && hasOneArgument(tokens, i + 2, to))) return true;
    } else if (isWord && VOLATILE_WORDS.has(tokens.raw(i).toLowerCase()) && !tokens.isSymbol(i - 1, '.')) {
      return true;
    }
  }
  return false;
}

/** Whether no comma follows in the parentheses that were opened before a token. */
function hasOneArgument(tokens: Tokens, from: number, to: number): boolean {
  let depth = 0;
  for (let i = from; i < to; i++) {
    if (tokens.kind(i) !== Kind.symbol) continue;
    const symbol = tokens.raw(i);
    if (symbol === ',' && depth === 0) return false;
    if (symbol === '(' || symbol === '[' || symbol === '{') depth++;
    if (symbol === ')' || symbol === ']' || symbol === '}') depth--;
    if (depth < 0) return true;
  }
  return true;
}

const KEYWORDS = new Set(
  (
    'ALL AND AS ASC BETWEEN BY CASE CROSS DESC DISTINCT ELSE END EVAL EXCEPT EXISTS FILTER FROM FULL GROUP HAVING ILIKE IN INNER ' +
    'INTERSECT INTERVAL IS JOIN LEFT LIKE LIMIT NOT NULL NULLS OFFSET ON OR ORDER OUTER OVER PARTITION RIGHT SELECT THEN TQL ' +
    'UNION USING VALUES WHEN WHERE WITH'
  ).split(' '),
);
const NO_SPACE_BEFORE = new Set([',', ')', '.', '::', '[', ']', ';']);
const NO_SPACE_AFTER = new Set(['(', '.', '::', '[']);

/** Prints a query on one line: keywords in upper case, one space between words, no comments, no trailing commas. */
export function normalisedQuery({ tokens, from, to }: QueryText): string {
  let text = '';
  for (let i = from; i < to; i++) {
    if (tokens.isSymbol(i, ',') && endsList(tokens, i + 1)) continue;
    if (i > from && isSpaced(tokens, i, from)) text += ' ';
    text += tokenText(tokens, i);
  }
  return text;
}

/** Whether a comma before this token is a trailing one, which means nothing. */
function endsList(tokens: Tokens, next: number): boolean {
  return tokens.isWord(next, 'FROM') || tokens.isSymbol(next, ')');
}

function tokenText(tokens: Tokens, i: number): string {
  const raw = tokens.raw(i);
  if (tokens.kind(i) !== Kind.word || tokens.isSymbol(i - 1, '.')) return raw;
  const upper = raw.toUpperCase();
  return KEYWORDS.has(upper) || tokens.isSymbol(i - 1, '::') ? upper : raw;
}

function isSpaced(tokens: Tokens, i: number, from: number): boolean {
  const isSymbol = tokens.kind(i) === Kind.symbol;
  if (isSymbol && NO_SPACE_BEFORE.has(tokens.raw(i))) return false;
  const before = i - 1;
  if (tokens.kind(before) === Kind.symbol) {
    if (NO_SPACE_AFTER.has(tokens.raw(before))) return false;
    return !isSign(tokens, before, from);
  }
  const isCall = isSymbol && tokens.raw(i) === '(' && tokens.kind(before) === Kind.word;
  return !isCall || KEYWORDS.has(tokens.raw(before).toUpperCase());
}

/** Whether a token is a sign, not an operator between two operands. */
function isSign(tokens: Tokens, i: number, from: number): boolean {
  if (!tokens.isSymbol(i, '-') && !tokens.isSymbol(i, '+')) return false;
  if (i === from) return true;
  const kind = tokens.kind(i - 1);
  if (kind === Kind.symbol) return !tokens.isSymbol(i - 1, ')') && !tokens.isSymbol(i - 1, ']');
  return kind === Kind.word && KEYWORDS.has(tokens.raw(i - 1).toUpperCase());
}
