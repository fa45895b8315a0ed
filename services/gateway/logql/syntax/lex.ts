import { logqlError } from './error.js';

/** Kinds of tokens of LogQL. */
export type LogqlTokenKind = 'name' | 'text' | 'number' | 'duration' | 'bytes' | 'operator' | 'option' | 'end';

/** A token; `value` is the plain text of a quoted one. */
export interface LogqlToken {
  readonly kind: LogqlTokenKind;
  readonly value: string;
  /** Offset in the query. */
  readonly at: number;
}

/** Largest query in characters. */
const QUERY_CHARS_MAX = 64 * 1024;
const TOKENS_MAX = 20_000;

const SPACES = /(?:\s+|#[^\n]*)+/y;
const NAME = /[A-Za-z_][A-Za-z0-9_]*/y;
const RAW = /`([^`]*)`/y;
const QUOTED = /"((?:[^"\\\n]|\\[^\n])*)"|'((?:[^'\\\n]|\\[^\n])*)'/y;
const DURATION = /(?:\d+(?:\.\d+)?(?:ns|us|µs|ms|s|m|h|d|w|y))+(?![A-Za-z0-9_])/y;
const BYTES = /\d+(?:\.\d+)?(?:[kKmMgGtTpPeE]i?[bB]?|[bB])(?![A-Za-z0-9_])/y;
const NUMBER = /(?:0x[0-9a-fA-F]+|\d+\.?\d*(?:[eE][+-]?\d+)?|\.\d+(?:[eE][+-]?\d+)?)(?![A-Za-z0-9_])/y;
const OPTION = /--[a-z][a-z-]*/y;
const OPERATOR = /\|=|\|~|\|>|!=|!~|!>|=~|==|>=|<=|[{}()[\],=|+\-*/%^<>]/y;
const ESCAPE = /\\(?:x([0-9a-fA-F]{2})|u([0-9a-fA-F]{4})|U([0-9a-fA-F]{8})|([0-7]{3})|([^]))/g;
const ESCAPED: Readonly<Record<string, string>> = {
  a: '\u0007',
  b: '\b',
  f: '\f',
  n: '\n',
  r: '\r',
  t: '\t',
  v: '\v',
  '\\': '\\',
  '"': '"',
  "'": "'",
};

/** Splits a query into tokens, the last of which is `end`. @throws `invalid_syntax`. */
export function lexLogql(query: string): readonly LogqlToken[] {
  if (query.length > QUERY_CHARS_MAX) {
    throw logqlError(query, 0, `the query is longer than ${QUERY_CHARS_MAX} characters`);
  }
  const tokens: LogqlToken[] = [];
  let at = 0;
  for (;;) {
    at += lengthAt(SPACES, query, at);
    if (at >= query.length) break;
    if (tokens.length >= TOKENS_MAX) throw logqlError(query, at, `the query has more than ${TOKENS_MAX} tokens`);
    const token = tokenAt(query, at);
    tokens.push(token.token);
    at += token.length;
  }
  tokens.push({ kind: 'end', value: '$end', at: query.length });
  return tokens;
}

const PLAIN: readonly (readonly [LogqlTokenKind, RegExp])[] = [
  ['name', NAME],
  ['duration', DURATION],
  ['bytes', BYTES],
  ['number', NUMBER],
  ['option', OPTION],
  ['operator', OPERATOR],
];

function tokenAt(query: string, at: number): { token: LogqlToken; length: number } {
  const character = query[at];
  if (character === '"' || character === '`' || character === "'") return textAt(query, at);
  for (const [kind, pattern] of PLAIN) {
    const length = lengthAt(pattern, query, at);
    if (length > 0) return { token: { kind, value: query.slice(at, at + length), at }, length };
  }
  throw logqlError(query, at, `syntax error: unexpected character ${JSON.stringify(character)}`);
}

function textAt(query: string, at: number): { token: LogqlToken; length: number } {
  RAW.lastIndex = at;
  const raw = RAW.exec(query);
  if (raw !== null) return { token: { kind: 'text', value: raw[1], at }, length: raw[0].length };
  QUOTED.lastIndex = at;
  const quoted = QUOTED.exec(query);
  if (quoted === null) throw logqlError(query, at, 'literal not terminated');
  const value = unescaped(quoted[1] ?? quoted[2]);
  if (value === undefined) throw logqlError(query, at, 'invalid syntax: unknown escape in a text');
  return { token: { kind: 'text', value, at }, length: quoted[0].length };
}

function lengthAt(pattern: RegExp, query: string, at: number): number {
  pattern.lastIndex = at;
  return pattern.exec(query)?.[0].length ?? 0;
}

/** Replaces the escapes of Go; undefined if one is unknown. */
function unescaped(text: string): string | undefined {
  if (!text.includes('\\')) return text;
  let isValid = true;
  const plain = text.replaceAll(ESCAPE, (_all, ...groups: (string | undefined)[]) => {
    const character = escapedCharacter(groups);
    isValid &&= character !== undefined;
    return character ?? '';
  });
  return isValid ? plain : undefined;
}

function escapedCharacter([byte, short, long, octal, letter]: readonly (string | undefined)[]): string | undefined {
  if (letter !== undefined) return Object.hasOwn(ESCAPED, letter) ? ESCAPED[letter] : undefined;
  const digits = byte ?? short ?? long;
  const point = digits === undefined ? parseInt(octal ?? '', 8) : parseInt(digits, 16);
  return point <= 0x10ffff ? String.fromCodePoint(point) : undefined;
}
