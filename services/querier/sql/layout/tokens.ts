import { Kind, type Tokens } from '../syntax/lex.js';

/** A comment before a token. */
export interface SqlComment {
  readonly text: string;
  /** Whether it begins its line. */
  readonly isFirst: boolean;
  /** Whether it ends its line: a block comment need not. */
  readonly isLast: boolean;
}

/** A token with what is needed to print it. */
export interface LayoutToken {
  /** As written; keywords in upper case. */
  readonly text: string;
  readonly kind: number;
  readonly isKeyword: boolean;
  readonly comments: readonly SqlComment[];
  /** Whether a space separates it from the token before it, on the same line. */
  readonly hasSpace: boolean;
}

/** Words that are no names in any position. */
const RESERVED = new Set(
  (
    'ALL ANALYZE AND ANTI ANY AS ASC ASOF BETWEEN CASE CAST CREATE CROSS DEFAULT DESC DESCRIBE DISTINCT ELSE END EXCEPT ' +
    'EXISTS FALSE FROM FULL GROUP HAVING ILIKE IN INNER INTERSECT INTO IS JOIN LATERAL LIKE LIMIT NATURAL NOT NULL ' +
    'OFFSET ON OR ORDER OUTER PRIMARY QUALIFY RETURNING SELECT SEMI SHOW TABLE THEN TO TRUE UNION UNIQUE USING WHEN ' +
    'WHERE WINDOW WITH'
  ).split(' '),
);
/** Words that are keywords before or after certain others only. */
const AFTER: Readonly<Partial<Record<string, ReadonlySet<string>>>> = {
  BY: new Set(['GROUP', 'ORDER', 'PARTITION']),
  INDEX: new Set(['TIME']),
  KEY: new Set(['PRIMARY']),
};
const BEFORE: Readonly<Partial<Record<string, ReadonlySet<string>>>> = {
  LEFT: new Set(['JOIN', 'OUTER', 'SEMI', 'ANTI']),
  RIGHT: new Set(['JOIN', 'OUTER', 'SEMI', 'ANTI']),
  PARTITION: new Set(['BY', 'ON']),
  OVER: new Set(['(']),
  TIME: new Set(['INDEX']),
  VALUES: new Set(['(']),
};
/** Keywords that end an operand. */
const OPERANDS = new Set(['END', 'NULL', 'TRUE', 'FALSE', 'ALL', 'DEFAULT']);
const SIGNS = new Set(['+', '-', '~', '@', '!']);
const NO_SPACE_BEFORE = new Set([',', ')', ']', '}', ';', '.', '::', ':']);
const NO_SPACE_AFTER = new Set(['(', '[', '{', '.', '::']);
const BLANK = /[\s\u00a0\ufeff]+/y;

/** Returns the tokens of a statement. Returns undefined if there is something between them that is no comment. */
export function layoutTokens(tokens: Tokens, from: number, to: number): LayoutToken[] | undefined {
  const out: LayoutToken[] = [];
  let isSign = false;
  for (let i = from; i < to; i++) {
    const comments = commentsBefore(tokens, i);
    if (comments === undefined) return undefined;
    const raw = tokens.raw(i);
    const isKeyword = isKeywordAt(tokens, i, from);
    const previous = out.at(-1);
    const isOperand = previous !== undefined && endsOperand(previous);
    const hasSpace = previous !== undefined && !isSign && isSeparated(tokens, i, previous, raw);
    out.push({
      text: isKeyword ? raw.toUpperCase() : raw,
      kind: tokens.kind(i),
      isKeyword,
      comments,
      // Two signs in a row would begin a comment.
      hasSpace: hasSpace || (isSign && tokens.kind(i) === Kind.symbol),
    });
    isSign = tokens.kind(i) === Kind.symbol && SIGNS.has(raw) && !isOperand;
  }
  return out;
}

/** Returns the comments between a token and the one before it. @param i may be the number of tokens. */
export function commentsBefore(tokens: Tokens, i: number): SqlComment[] | undefined {
  const { source } = tokens;
  const start = i === 0 ? 0 : tokens.end(i - 1);
  const end = tokens.start(i);
  const comments: SqlComment[] = [];
  let at = start;
  let isFirst = i === 0;
  while (at < end) {
    BLANK.lastIndex = at;
    const blank = BLANK.exec(source)?.[0] ?? '';
    isFirst ||= blank.includes('\n');
    at = Math.min(at + blank.length, end);
    if (at === end) break;
    const length = commentLength(source, at);
    if (length === 0) return undefined;
    const text = source.slice(at, at + length).trimEnd();
    at += length;
    BLANK.lastIndex = at;
    const isLast = text.startsWith('--') || (BLANK.exec(source)?.[0] ?? '').includes('\n') || at === source.length;
    comments.push({ text, isFirst, isLast });
    isFirst = text.startsWith('--');
  }
  return comments;
}

/** Returns the length of the comment that begins here; 0 if none does. */
function commentLength(source: string, start: number): number {
  if (source.startsWith('--', start)) {
    const end = source.indexOf('\n', start);
    return (end === -1 ? source.length : end) - start;
  }
  if (!source.startsWith('/*', start)) return 0;
  let depth = 0;
  for (let at = start; at < source.length; at++) {
    if (source.startsWith('/*', at)) depth++;
    else if (source.startsWith('*/', at)) depth--;
    else continue;
    at++;
    if (depth === 0) return at + 1 - start;
  }
  return 0;
}

function isKeywordAt(tokens: Tokens, i: number, from: number): boolean {
  if (tokens.kind(i) !== Kind.word || tokens.isSymbol(i - 1, '.') || tokens.isSymbol(i + 1, '.')) return false;
  const word = tokens.raw(i).toUpperCase();
  if (i === from || RESERVED.has(word)) return true;
  const next = tokens.raw(i + 1).toUpperCase();
  if (BEFORE[word]?.has(next) === true) return true;
  return i > from && AFTER[word]?.has(tokens.raw(i - 1).toUpperCase()) === true;
}

/** Whether a token is the end of what an operator takes on its left. */
function endsOperand({ kind, text, isKeyword }: LayoutToken): boolean {
  if (isKeyword) return OPERANDS.has(text);
  return kind !== Kind.symbol || text === ')' || text === ']' || text === '}';
}

/** Whether a space separates a token from the one before it, which is no sign. */
function isSeparated(tokens: Tokens, i: number, previous: LayoutToken, raw: string): boolean {
  const symbol = tokens.kind(i) === Kind.symbol ? raw : '';
  const before = previous.kind === Kind.symbol ? previous.text : '';
  const isWritten = tokens.start(i) > tokens.end(i - 1);
  // A dot would become part of the number.
  if (symbol === '.' && (previous.kind === Kind.integer || previous.kind === Kind.decimal)) return isWritten;
  if (NO_SPACE_BEFORE.has(symbol) || NO_SPACE_AFTER.has(before)) return false;
  if (before === ':') return isWritten;
  // A call has no space, a list of columns one, and so has what follows a keyword.
  if (symbol === '(' || symbol === '[') return previous.isKeyword || isWritten || isOperator(before);
  return true;
}

function isOperator(symbol: string): boolean {
  return symbol !== '' && !')]}'.includes(symbol);
}
