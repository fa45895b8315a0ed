const QUOTES = new Set(["'", '"', '`']);

/**
 * Cuts SQL text at its semicolons; those in quotes and comments do not count. Parts that are only comments
 * are left out. The last part, which no semicolon ends, is `rest`.
 */
export function splitStatements(text: string): { readonly statements: readonly string[]; readonly rest: string } {
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

/** Behind a quoted text, a comment, or one character. */
function skipToken(text: string, i: number): number {
  if (QUOTES.has(text[i])) return behind(text, text[i], i + 1);
  if (text.startsWith('--', i)) return behind(text, '\n', i + 2);
  if (text.startsWith('/*', i)) return behind(text, '*/', i + 2);
  return i + 1;
}

/** Behind the next `end`; a doubled quote ends one text and begins the next, which comes to the same. */
function behind(text: string, end: string, from: number): number {
  const found = text.indexOf(end, from);
  return found < 0 ? text.length : found + end.length;
}

/** The database that a `USE` statement names. */
export function usedDatabase(statement: string): string | undefined {
  const match = /^use\s+(?:"((?:[^"]|"")+)"|`([^`]+)`|([^\s"`;]+))$/i.exec(statement);
  return match === null ? undefined : (match[1]?.replaceAll('""', '"') ?? match[2] ?? match[3]);
}
