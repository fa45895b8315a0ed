import type { Cursor } from './cursor.js';

/** What makes a boolean of what stands beside it. */
const OPERATORS = ['=', '==', '<>', '!=', '<', '>', '<=', '>=', '~', '~*', '!~', '!~*', '@@'];
const WORDS = ['IS', 'ISNULL', 'NOTNULL', 'IN', 'LIKE', 'ILIKE', 'GLOB', 'SIMILAR', 'BETWEEN', 'EXISTS'];
const QUERIES = ['SELECT', 'WITH', 'VALUES', 'FROM', 'TQL'];

/**
 * The parts of a condition, joined by AND and OR, of which the text alone does not tell that they are boolean: the
 * engine takes a number or a text for one too, and what then is true is not what was meant.
 *
 * @param condition is read to its end.
 */
export function doubtfulPredicates(condition: Cursor): string[] {
  const found: string[] = [];
  collect(condition, found);
  return found;
}

/** Reads up to what closes this level. Each token is read once, however deep it lies. */
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
    found.length = countBefore; // what stands behind the group makes something else of it
  }
  const isDoubtful = readPart(cursor);
  const { tokens, at } = cursor;
  if (isDoubtful && at > start && !tokens.isWord(start, 'NULL')) {
    found.push(tokens.source.slice(tokens.start(start), tokens.end(at - 1)));
  }
}

/** Reads a parenthesis, unless it has a query in it. */
function acceptGroup(cursor: Cursor): boolean {
  if (!cursor.acceptSymbol('(')) return false;
  if (!QUERIES.some((word) => cursor.sees(word))) return true;
  cursor.at--;
  return false;
}

function endsPart(cursor: Cursor): boolean {
  return cursor.done || isClosing(cursor) || cursor.sees('AND') || cursor.sees('OR');
}

/** Reads up to the end of a part. @returns whether nothing there makes a boolean. */
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

/** Of brackets that do not match the engine tells. */
function isClosing(cursor: Cursor): boolean {
  return cursor.seesSymbol(')') || cursor.seesSymbol(']') || cursor.seesSymbol('}');
}
