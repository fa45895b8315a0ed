import { Cursor } from './cursor.js';
import type { Tokens } from './lex.js';

/** Returns one cursor for each statement of the text; empty statements are dropped. */
export function splitStatements(tokens: Tokens): Cursor[] {
  const cursors: Cursor[] = [];
  let from = 0;
  for (let i = 0; i <= tokens.count; i++) {
    if (i < tokens.count && !tokens.isSymbol(i, ';')) continue;
    if (i > from) cursors.push(new Cursor(tokens, from, i));
    from = i + 1;
  }
  return cursors;
}
