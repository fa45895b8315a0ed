import { Kind, type Tokens } from './lex.js';
import type { QueryText } from './query-text.js';

/** Words that statements print in upper case. */
const KEYWORDS = new Set(
  (
    'ALIGN ALL AND ANY AS ASC ASOF BETWEEN BY CASE CAST CREATE CROSS DESC DISTINCT ELSE END ESCAPE EXCEPT EXISTS FALSE FILL ' +
    'FILTER FROM FULL GROUP HAVING IF ILIKE IN INNER INTERSECT INTERVAL INTO IS JOIN LATERAL LEFT LIKE LIMIT NATURAL NOT NULL ' +
    'NULLS OFFSET ON OR ORDER OUTER OVER PARTITION PRECEDING QUALIFY RECURSIVE REPLACE RIGHT SELECT THEN TRUE UNION USING ' +
    'VALUES VIEW WHEN WHERE WINDOW WITH WITHIN'
  ).split(' '),
);
/** Symbols before and after which there is no space. */
const TIGHT = new Set(['.', '::']);
const NO_SPACE_BEFORE = new Set([',', ')', ']', ';', '[']);
const NO_SPACE_AFTER = new Set(['(', '[']);
/** Symbols after which a sign belongs to a number. */
const ENDS_OPERAND = new Set([')', ']']);

/** Returns the text of a statement on one line, without comments, with single spaces and keywords in upper case. */
export function normalText({ tokens, from, to }: QueryText): string {
  let text = '';
  for (let i = from; i < to; i++) text += `${i > from && hasSpace(tokens, i, from) ? ' ' : ''}${written(tokens, i)}`;
  return text;
}

function written(tokens: Tokens, i: number): string {
  const raw = tokens.raw(i);
  const isName = tokens.isSymbol(i - 1, '.') || tokens.isSymbol(i + 1, '.');
  if (tokens.kind(i) !== Kind.word || isName) return raw;
  return KEYWORDS.has(raw.toUpperCase()) ? raw.toUpperCase() : raw;
}

/** Whether there is a space before the token. */
function hasSpace(tokens: Tokens, i: number, from: number): boolean {
  const [before, here] = [tokens.raw(i - 1), tokens.raw(i)];
  const isSymbol = tokens.kind(i) === Kind.symbol;
  const isAfterSymbol = tokens.kind(i - 1) === Kind.symbol;
  if (isSymbol && (TIGHT.has(here) || NO_SPACE_BEFORE.has(here))) return false;
  if (isAfterSymbol && (TIGHT.has(before) || NO_SPACE_AFTER.has(before))) return false;
  // A call has none before its arguments; lists of columns and subqueries do, as written.
  if (isSymbol && here === '(') return isAfterSymbol || isKeyword(tokens, i - 1) || tokens.start(i) > tokens.end(i - 1);
  const isSign = isAfterSymbol && (before === '-' || before === '+') && startsOperand(tokens, i - 2, from);
  return !isSign;
}

function isKeyword(tokens: Tokens, i: number): boolean {
  return tokens.kind(i) === Kind.word && KEYWORDS.has(tokens.raw(i).toUpperCase());
}

/** Whether an operand, and so a sign, can begin after the token. */
function startsOperand(tokens: Tokens, i: number, from: number): boolean {
  if (i < from) return true;
  if (tokens.kind(i) === Kind.symbol) return !ENDS_OPERAND.has(tokens.raw(i));
  return isKeyword(tokens, i);
}
