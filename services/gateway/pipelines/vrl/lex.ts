import { buildError } from '../build-error.js';

/** Kinds of tokens. */
export type TokenKind = 'name' | 'integer' | 'float' | 'string' | 'raw' | 'regex' | 'timestamp' | 'symbol' | 'end';

/** A token of a script. */
export interface Token {
  readonly kind: TokenKind;
  /** Text of names, numbers and symbols; content of literals, without escapes. */
  readonly text: string;
  readonly at: number;
  /** Whether a line break, or a space, is in front of it. */
  readonly isOnNewLine: boolean;
  readonly isSpaced: boolean;
}

const SPACES = /(?:[ \t\r\n]|#[^\n]*|\\\n)*/y;
const NUMBER = /\d[\d_]*(?:\.\d[\d_]*(?:[eE][+-]?\d+)?)?/y;
const NAME = /[A-Za-z_@][A-Za-z0-9_@]*/y;
const QUOTED = /([srt])'((?:[^'\\]|\\[^])*)'/y;
const SYMBOL = /\?\?=|\?\?|->|\|\||\|=|&&|==|!=|<=|>=|[-+*/%!<>=|()[\]{},;:.?]/y;
const LITERALS: Readonly<Record<string, TokenKind>> = { s: 'raw', r: 'regex', t: 'timestamp' };
const ESCAPES: Readonly<Record<string, string>> = { n: '\n', r: '\r', t: '\t', '0': '\0' };

/** Makes the error for a script that does not compile. */
export function compileError(source: string, at: number, text: string): Error {
  const before = source.slice(0, at).split('\n');
  const place = `line ${before.length} column ${before[before.length - 1].length + 1}`;
  return buildError(`Failed to compile VRL, ${text} at ${place}`);
}

/** Splits a script into tokens. @throws `invalid_arguments`. */
export function lexScript(source: string): Token[] {
  const tokens: Token[] = [];
  let at = 0;
  const match = (pattern: RegExp): RegExpExecArray | null => {
    pattern.lastIndex = at;
    return pattern.exec(source);
  };
  for (;;) {
    const spaces = match(SPACES)?.[0] ?? '';
    at += spaces.length;
    const base = { at, isOnNewLine: spaces.includes('\n'), isSpaced: spaces !== '' };
    if (at >= source.length) {
      tokens.push({ ...base, kind: 'end', text: '' });
      return tokens;
    }
    if (source[at] === '"') {
      const end = stringEnd(source, at);
      tokens.push({ ...base, kind: 'string', text: source.slice(at + 1, end) });
      at = end + 1;
      continue;
    }
    const quoted = match(QUOTED);
    const number = quoted === null ? match(NUMBER) : null;
    const found = quoted ?? number ?? match(NAME) ?? match(SYMBOL);
    if (found === null) throw compileError(source, at, `unexpected character "${source[at]}"`);
    if (quoted !== null) tokens.push({ ...base, kind: LITERALS[quoted[1]], text: literalText(quoted) });
    else if (number !== null) {
      const isFloat = number[0].includes('.');
      tokens.push({ ...base, kind: isFloat ? 'float' : 'integer', text: number[0].replaceAll('_', '') });
    } else tokens.push({ ...base, kind: /^[A-Za-z_@]/.test(found[0]) ? 'name' : 'symbol', text: found[0] });
    at += found[0].length;
  }
}

function literalText([, kind, text]: RegExpExecArray): string {
  // In regular expressions all escapes but that of the quote are part of the pattern.
  return kind === 'r' ? text.replaceAll("\\'", "'") : text.replace(/\\(['\\])/g, '$1');
}

function stringEnd(source: string, from: number): number {
  let at = from + 1;
  while (at < source.length && source[at] !== '"') at += source[at] === '\\' ? 2 : 1;
  if (at >= source.length) throw compileError(source, from, 'text is not closed');
  return at;
}

/** Resolves the escapes of a text in double quotes. @throws `invalid_arguments`. */
export function unescapeText(text: string, source: string, at: number): string {
  return text.replace(/\\(?:u\{([0-9a-fA-F]{1,6})\}|\n\s*|([^]))/g, (token, code?: string, letter?: string) => {
    if (code !== undefined) {
      if (parseInt(code, 16) > 0x10ffff) throw compileError(source, at, `invalid escape "${token}"`);
      return String.fromCodePoint(parseInt(code, 16));
    }
    if (letter === undefined) return '';
    if (Object.hasOwn(ESCAPES, letter)) return ESCAPES[letter];
    if ('"\'\\{}'.includes(letter)) return letter;
    throw compileError(source, at, `invalid escape "${token}"`);
  });
}
