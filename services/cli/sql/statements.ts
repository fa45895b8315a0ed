const QUOTES = new Set(["'", '"', '`']);

/**
 * Splits SQL text at its semicolons, except those in quotes and comments. Parts that are only comments are dropped. The last
 * part, which no semicolon ends, is `rest`.
 */
export function splitInput(text: string): { readonly statements: readonly string[]; readonly rest: string } {
  const statements: string[] = [];
  let from = 0;
  let i = 0;
  let isEmpty = true;
  while (i < text.length) {
    if (text[i] === ';') {
      if (!isEmpty) statements.push(text.slice(from, i).trim());
      from = ++i;
      isEmpty = true;
    } else {
      const isComment = text.startsWith('--', i) || text.startsWith('/*', i);
      if (!isComment && text[i].trim() !== '') isEmpty = false;
      i = skipToken(text, i);
    }
  }
  return { statements, rest: isEmpty ? '' : text.slice(from).trim() };
}

/** Returns the offset after a quoted text, a comment, or one character. */
function skipToken(text: string, i: number): number {
  if (QUOTES.has(text[i])) return afterNext(text, text[i], i + 1);
  if (text.startsWith('--', i)) return afterNext(text, '\n', i + 2);
  if (text.startsWith('/*', i)) return afterNext(text, '*/', i + 2);
  return i + 1;
}

/** Returns the offset after the next `end`; a doubled quote ends one text and begins the next, which has the same effect. */
function afterNext(text: string, end: string, from: number): number {
  const found = text.indexOf(end, from);
  return found < 0 ? text.length : found + end.length;
}

/** Returns the database that a `USE` statement names. */
export function usedDatabase(statement: string): string | undefined {
  const match = /^use\s+(?:"((?:[^"]|"")+)"|`([^`]+)`|([^\s"`;]+))$/i.exec(statement);
  return match === null ? undefined : (match[1]?.replaceAll('""', '"') ?? match[2] ?? match[3]);
}
