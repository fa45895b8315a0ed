/** A statement in a text of several, without the semicolon. */
export interface Statement {
  readonly text: string;
  /** UTF-16 units from the start of the whole text. */
  readonly from: number;
  readonly to: number;
}

/** What has its own end, so that a semicolon in it separates nothing. */
const SKIPPED = /'(?:[^']|'')*(?:'|$)|"(?:[^"]|"")*(?:"|$)|--[^\n]*|\/\*[\s\S]*?(?:\*\/|$)|;/g;

/** Splits a text at semicolons outside of strings, names and comments. Parts without a word are left out. */
export function splitStatements(text: string): readonly Statement[] {
  const found: Statement[] = [];
  let start = 0;
  const add = (end: number): void => {
    const part = text.slice(start, end);
    const words = part.replace(/--[^\n]*|\/\*[\s\S]*?(?:\*\/|$)/g, '');
    if (words.trim() === '') return;
    const from = start + part.length - part.trimStart().length;
    found.push({ text: part.trim(), from, to: from + part.trim().length });
  };
  for (const match of text.matchAll(SKIPPED)) {
    if (match[0] !== ';') continue;
    add(match.index);
    start = match.index + 1;
  }
  add(text.length);
  return found;
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
  const [, word = ''] = /^(?:\s|--[^\n]*(?:\n|$)|\/\*[\s\S]*?\*\/)*(\w+)/.exec(text) ?? [];
  return word.toLowerCase();
}
