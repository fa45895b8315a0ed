import { Cursor } from './cursor.js';

/** What makes a boolean of what stands beside it. */
const OPERATORS = ['=', '==', '<>', '!=', '<', '>', '<=', '>=', '~', '~*', '!~', '!~*', '@@'];
const WORDS = ['IS', 'ISNULL', 'NOTNULL', 'IN', 'LIKE', 'ILIKE', 'GLOB', 'SIMILAR', 'BETWEEN', 'EXISTS'];
const QUERIES = ['SELECT', 'WITH', 'VALUES', 'FROM', 'TQL'];

/**
 * The parts of a condition, joined by AND and OR, of which the text alone does not tell that they are boolean: the
 * engine takes a number or a text for one too, and what then is true is not what was meant.
 */
export function doubtfulPredicates(condition: Cursor): string[] {
  const found: string[] = [];
  collect(condition, found);
  return found;
}

function collect({ tokens, from, to }: Cursor, found: string[]): void {
  for (let cursor = new Cursor(tokens, from, to); !cursor.done; cursor.at++) {
    while (cursor.accept('NOT'));
    const start = cursor.at;
    const isDoubtful = readPart(cursor);
    if (!isDoubtful || cursor.at === start) continue;
    const part = new Cursor(tokens, start, cursor.at);
    const inner = insideParentheses(part);
    if (inner !== undefined) collect(inner, found);
    else if (!part.sees('NULL')) found.push(tokens.source.slice(tokens.start(start), tokens.end(cursor.at - 1)));
  }
}

/** Reads up to the next AND or OR of this level. @returns whether nothing there makes a boolean. */
function readPart(cursor: Cursor): boolean {
  let depth = 0;
  let isDoubtful = true;
  let isBetween = false;
  for (; !cursor.done; cursor.at++) {
    if (opens(cursor)) depth++;
    else if (closes(cursor)) depth--;
    if (depth > 0) continue;
    if (cursor.sees('AND') && isBetween) isBetween = false;
    else if (cursor.sees('AND') || cursor.sees('OR')) break;
    if (cursor.sees('BETWEEN')) isBetween = true;
    if (WORDS.some((word) => cursor.sees(word)) || OPERATORS.some((symbol) => cursor.seesSymbol(symbol)))
      isDoubtful = false;
  }
  return isDoubtful;
}

function opens(cursor: Cursor): boolean {
  return cursor.seesSymbol('(') || cursor.seesSymbol('[') || cursor.seesSymbol('{') || cursor.sees('CASE');
}

function closes(cursor: Cursor): boolean {
  return cursor.seesSymbol(')') || cursor.seesSymbol(']') || cursor.seesSymbol('}') || cursor.sees('END');
}

/** What stands between the parentheses that are all of the part, unless it is a query. */
function insideParentheses({ tokens, from, to }: Cursor): Cursor | undefined {
  const cursor = new Cursor(tokens, from, to);
  if (!cursor.acceptSymbol('(') || QUERIES.some((word) => cursor.sees(word))) return undefined;
  let depth = 1;
  for (; depth > 0 && !cursor.done; cursor.at++) {
    if (cursor.seesSymbol('(')) depth++;
    else if (cursor.seesSymbol(')')) depth--;
  }
  return cursor.done && depth === 0 ? new Cursor(tokens, from + 1, to - 1) : undefined;
}
