/** A statement in a text of several, without the semicolon. */
export interface Statement {
  readonly text: string;
  /** UTF-16 units from the start of the whole text. */
  readonly from: number;
  readonly to: number;
}

/** Splits a text at semicolons outside of strings, names and comments. Parts without a word are left out. */
export function splitStatements(text: string): readonly Statement[] {
  const found: Statement[] = [];
  let start = 0;
  let hasWords = false;
  const add = (end: number): void => {
    const part = text.slice(start, end);
    const from = start + part.length - part.trimStart().length;
    if (hasWords) found.push({ text: part.trim(), from, to: from + part.trim().length });
    hasWords = false;
  };
  for (let at = 0; at < text.length;) {
    const next = skipComment(text, at);
    if (next > at) {
      at = next;
      continue;
    }
    if (text[at] === ';') {
      add(at);
      start = ++at;
      continue;
    }
    hasWords ||= !/\s/.test(text[at]);
    at = skipQuoted(text, at);
  }
  add(text.length);
  return found;
}

/** Returns the end of the comment that begins at a place; the place if none does. Comments between `/*` are nested, as in the server. */
function skipComment(text: string, at: number): number {
  if (text.startsWith('--', at)) {
    const end = text.indexOf('\n', at);
    return end < 0 ? text.length : end + 1;
  }
  if (!text.startsWith('/*', at)) return at;
  let depth = 0;
  for (let i = at; i < text.length;) {
    if (text.startsWith('/*', i)) [depth, i] = [depth + 1, i + 2];
    else if (text.startsWith('*/', i)) {
      [depth, i] = [depth - 1, i + 2];
      if (depth === 0) return i;
    } else i++;
  }
  return text.length;
}

/** Returns the end of the string or quoted name that begins at a place; the next character if none does. */
function skipQuoted(text: string, at: number): number {
  const hasEscapes = /[eE]/.test(text[at]) && text[at + 1] === "'" && !/\w/.test(text[at - 1] ?? ' ');
  const quote = hasEscapes ? "'" : text[at];
  if (!hasEscapes && quote !== "'" && quote !== '"' && quote !== '`') return at + 1;
  for (let i = at + (hasEscapes ? 2 : 1); i < text.length; i++) {
    if (hasEscapes && text[i] === '\\') i++;
    else if (text[i] === quote) {
      // Two quotes are one in the text.
      if (text[i + 1] !== quote) return i + 1;
      i++;
    }
  }
  return text.length;
}

/** Returns the statement that the cursor is in or after; undefined if there is none. */
export function statementAt(text: string, cursor: number): Statement | undefined {
  const all = splitStatements(text);
  return all.findLast(({ from }) => from <= cursor) ?? all[0];
}

/** First words of statements that only read. */
const READING = /^(select|with|show|describe|desc|explain|tql|values)$/;

/** Whether all statements of a text only read, so that a link or a stored dashboard may run them without a click. */
export function onlyReads(text: string): boolean {
  return splitStatements(text).every((statement) => READING.test(firstWord(statement.text)));
}

/** Returns the first word of a statement after its comments, in lower case. */
export function firstWord(text: string): string {
  let at = 0;
  for (let next = -1; next !== at;) {
    next = at;
    while (at < text.length && /\s/.test(text[at])) at++;
    at = skipComment(text, at);
  }
  return (/^\w+/.exec(text.slice(at, at + 100))?.[0] ?? '').toLowerCase();
}
