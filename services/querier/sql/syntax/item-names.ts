import type { Tokens } from './lex.js';
import type { QueryText } from './query-text.js';

const ENDS = [
  'FROM',
  'WHERE',
  'GROUP',
  'HAVING',
  'ORDER',
  'LIMIT',
  'UNION',
  'INTERSECT',
  'EXCEPT',
  'WINDOW',
  'QUALIFY',
  'OFFSET',
];
const NAME_CHARS_MAX = 200;

/**
 * Returns the text of each item of the outermost select list, by which results name items without an alias: as written, on one
 * line, in lower case unless something in it is quoted.
 */
export function itemTexts({ tokens, from, to }: QueryText): string[] {
  const names: string[] = [];
  // After WITH, the first SELECT belongs to a common table expression.
  const isWith = tokens.isWord(from, 'WITH');
  let depth = 0;
  let start = -1;
  for (let i = from; i < to; i++) {
    depth += depthChange(tokens, i);
    if (start === -1) {
      if (!tokens.isWord(i, 'SELECT') || (isWith && depth > 0)) continue;
      depth = 0;
      start = skipDistinct({ tokens, from: i + 1, to });
      i = start - 1;
    } else if (depth < 0 || (depth === 0 && isEnd(tokens, i))) {
      return [...names, itemText({ tokens, from: start, to: i })];
    } else if (depth === 0 && tokens.isSymbol(i, ',')) {
      names.push(itemText({ tokens, from: start, to: i }));
      start = i + 1;
    }
  }
  return start === -1 ? [] : [...names, itemText({ tokens, from: start, to })];
}

/** Reports whether a token begins the clause after a select list. `WITHIN GROUP` and `IS DISTINCT FROM` belong to an item. */
function isEnd(tokens: Tokens, i: number): boolean {
  const isOfItem = (before: string, word: string): boolean => tokens.isWord(i - 1, before) && tokens.isWord(i, word);
  return ENDS.some((word) => tokens.isWord(i, word)) && !isOfItem('WITHIN', 'GROUP') && !isOfItem('DISTINCT', 'FROM');
}

/** Returns how a token changes the nesting depth of brackets. */
function depthChange(tokens: Tokens, i: number): number {
  if (tokens.isSymbol(i, '(') || tokens.isSymbol(i, '[') || tokens.isSymbol(i, '{')) return 1;
  return tokens.isSymbol(i, ')') || tokens.isSymbol(i, ']') || tokens.isSymbol(i, '}') ? -1 : 0;
}

function skipDistinct({ tokens, from, to }: QueryText): number {
  if (tokens.isWord(from, 'ALL')) return from + 1;
  if (!tokens.isWord(from, 'DISTINCT')) return from;
  if (!tokens.isWord(from + 1, 'ON')) return from + 1;
  let depth = 0;
  for (let i = from + 2; i < to; i++) {
    if (tokens.isSymbol(i, '(')) depth++;
    if (tokens.isSymbol(i, ')') && --depth === 0) return i + 1;
  }
  return to;
}

function itemText({ tokens, from, to }: QueryText): string {
  if (from >= to) return '';
  const text = tokens.source
    .slice(tokens.start(from), tokens.end(to - 1))
    .replaceAll(/\s+/g, ' ')
    .slice(0, NAME_CHARS_MAX);
  return /["'`]/.test(text) ? text : text.toLowerCase();
}
