import type { Cursor } from './cursor.js';

/** Operators that turn their operands into a boolean. */
const OPERATORS = ['=', '==', '<>', '!=', '<', '>', '<=', '>=', '~', '~*', '!~', '!~*', '@@'];
const WORDS = ['IS', 'ISNULL', 'NOTNULL', 'IN', 'LIKE', 'ILIKE', 'GLOB', 'SIMILAR', 'BETWEEN', 'EXISTS'];
const QUERIES = ['SELECT', 'WITH', 'VALUES', 'FROM', 'TQL'];

/**
 * Returns the operands of AND and OR of a condition that are not evidently boolean: the engine accepts a number or a text as a
 * condition, with a meaning that the user did not intend.
 *
 * @param condition is read to its end.
 */
export function doubtfulPredicates(condition: Cursor): string[] {
  const found: string[] = [];
  collect(condition, found);
  return found;
}

/** Reads up to the end of this level. Each token is read once, however deep it is nested. */
function collect(cursor: Cursor, found: string[]): void {
  while (!cursor.done && !isClosing(cursor)) {
    collectPart(cursor, found);
    if (!cursor.accept('AND')) cursor.accept('OR');
  }
}

function collectPart(cursor: Cursor, found: string[]): void {
  while (cursor.accept('NOT'));
  const start = cursor.at;
  const countBefore = found.length;
  if (acceptGroup(cursor)) {
    collect(cursor, found);
    cursor.acceptSymbol(')');
    if (endsPart(cursor)) return;
    found.length = countBefore; // what follows the group changes its meaning
  }
  const isDoubtful = readPart(cursor);
  const { tokens, at } = cursor;
  if (isDoubtful && at > start && !tokens.isWord(start, 'NULL')) {
    found.push(tokens.source.slice(tokens.start(start), tokens.end(at - 1)));
  }
}

/** Reads a parenthesis, unless it contains a query. */
function acceptGroup(cursor: Cursor): boolean {
  if (!cursor.acceptSymbol('(')) return false;
  if (!QUERIES.some((word) => cursor.sees(word))) return true;
  cursor.at--;
  return false;
}

function endsPart(cursor: Cursor): boolean {
  return cursor.done || isClosing(cursor) || cursor.sees('AND') || cursor.sees('OR');
}

/** Reads up to the end of an operand. @returns whether nothing in it makes a boolean. */
function readPart(cursor: Cursor): boolean {
  let depth = 0;
  let isDoubtful = true;
  let isBetween = false;
  for (; !cursor.done; cursor.at++) {
    if (depth === 0 && endsPart(cursor) && !(isBetween && cursor.sees('AND'))) break;
    if (isOpening(cursor)) depth++;
    else if (depth > 0 && (isClosing(cursor) || cursor.sees('END'))) depth--;
    if (depth > 0) continue;
    isBetween = cursor.sees('BETWEEN') || (isBetween && !cursor.sees('AND'));
    if (makesBoolean(cursor)) isDoubtful = false;
  }
  return isDoubtful;
}

function makesBoolean(cursor: Cursor): boolean {
  return WORDS.some((word) => cursor.sees(word)) || OPERATORS.some((symbol) => cursor.seesSymbol(symbol));
}

function isOpening(cursor: Cursor): boolean {
  return cursor.seesSymbol('(') || cursor.seesSymbol('[') || cursor.seesSymbol('{') || cursor.sees('CASE');
}

/** Mismatched brackets are reported by the engine. */
function isClosing(cursor: Cursor): boolean {
  return cursor.seesSymbol(')') || cursor.seesSymbol(']') || cursor.seesSymbol('}');
}
