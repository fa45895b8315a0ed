import { AlmanacError } from '#shared/errors/almanac-error';

import { atPlace, type TextPlace } from './text-place.js';

/** Kinds of tokens. `text` tokens are string literals, `quoted` are identifiers in double quotes or backticks. */
export const Kind = {
  word: 1,
  quoted: 2,
  text: 3,
  escapeText: 4,
  binary: 5,
  integer: 6,
  decimal: 7,
  parameter: 8,
  symbol: 9,
  /** The query of a TQL statement, verbatim. */
  promql: 10,
} as const;
/** One of the kinds of tokens. */
export type SqlTokenKind = (typeof Kind)[keyof typeof Kind];

const DEPTH_MAX = 256;
const SYMBOL_CHARS = new Set('~!@#%^&|?+-*/<>=');
const PLAIN_SYMBOLS = '(),;.[]{}:$';

/**
 * The tokens of a SQL text, without comments and white space, stored as numbers so that a statement of many megabytes costs
 * nine bytes per token and no objects.
 */
export class Tokens {
  readonly source: string;
  count = 0;
  #kinds = new Uint8Array(64);
  #starts = new Uint32Array(64);
  #ends = new Uint32Array(64);

  constructor(source: string) {
    this.source = source;
  }

  add(kind: SqlTokenKind, start: number, end: number): void {
    if (this.count === this.#kinds.length) this.#grow();
    this.#kinds[this.count] = kind;
    this.#starts[this.count] = start;
    this.#ends[this.count] = end;
    this.count++;
  }

  /** Kind of a token; zero past the last one. */
  kind(i: number): number {
    return i < this.count ? this.#kinds[i] : 0;
  }

  start(i: number): number {
    return i < this.count ? this.#starts[i] : this.source.length;
  }

  end(i: number): number {
    return i < this.count ? this.#ends[i] : this.source.length;
  }

  /** Returns the token as written. */
  raw(i: number): string {
    return this.source.slice(this.start(i), this.end(i));
  }

  place(i: number): TextPlace {
    return { source: this.source, start: this.start(i), end: this.end(i) };
  }

  /** Returns whether the token is this symbol. */
  isSymbol(i: number, symbol: string): boolean {
    return (
      this.kind(i) === Kind.symbol &&
      this.#ends[i] - this.#starts[i] === symbol.length &&
      this.source.startsWith(symbol, this.#starts[i])
    );
  }

  /** Returns whether the token is this word, unquoted, in any case. @param word in upper case. */
  isWord(i: number, word: string): boolean {
    return (
      this.kind(i) === Kind.word &&
      this.#ends[i] - this.#starts[i] === word.length &&
      this.raw(i).toUpperCase() === word
    );
  }

  /** Returns the name of an identifier token: verbatim if quoted, otherwise in lower case. */
  name(i: number): string {
    const raw = this.raw(i);
    if (this.kind(i) !== Kind.quoted) return raw.toLowerCase();
    const quote = raw[0];
    return raw.slice(1, -1).replaceAll(quote + quote, quote);
  }

  /** Returns the value of a string literal. */
  textValue(i: number): string {
    const raw = this.raw(i);
    if (this.kind(i) === Kind.escapeText) return unescape(raw.slice(2, -1));
    return raw.slice(1, -1).replaceAll("''", "'");
  }

  /** Returns the hexadecimal digits of a binary literal. */
  hexValue(i: number): string {
    const raw = this.raw(i);
    return raw[1] === "'" ? raw.slice(2, -1) : raw.slice(2);
  }

  #grow(): void {
    const length = this.#kinds.length * 2;
    const kinds = new Uint8Array(length);
    const starts = new Uint32Array(length);
    const ends = new Uint32Array(length);
    kinds.set(this.#kinds);
    starts.set(this.#starts);
    ends.set(this.#ends);
    this.#kinds = kinds;
    this.#starts = starts;
    this.#ends = ends;
  }
}

/** Splits a text into tokens. @throws `invalid_syntax` for an unclosed quote or comment, a stray character, or too deep nesting. */
export function lexSql(source: string): Tokens {
  const tokens = new Tokens(source);
  let depth = 0;
  let at = 0;
  while (at < source.length) {
    const next = skipBlank(source, at);
    if (next !== at) {
      at = next;
      continue;
    }
    const c = source[at];
    if (c === '(' || c === '[' || c === '{') depth = deeper(depth, source, at);
    if (c === ')' || c === ']' || c === '}') depth--;
    const token = tokens.count;
    at = lexToken(source, at, tokens);
    if ((c === 't' || c === 'T') && beginsTql(tokens, token, at)) at = lexTql(source, at, tokens);
  }
  return tokens;
}

const TQL_OPTION = /VERBOSE\b|FORMAT\s+\w+/iy;
const TQL_VERB = /\s+(?:EVAL|EVALUATE|EXPLAIN|ANALYZE)\b/iy;

/** Returns whether the last token begins a TQL statement, which is in another language after some parameters. */
function beginsTql(tokens: Tokens, token: number, end: number): boolean {
  if (!tokens.isWord(token, 'TQL')) return false;
  const isPlaced = token === 0 || tokens.isSymbol(token - 1, ';') || tokens.isSymbol(token - 1, '(');
  // The query of a flow comes after AS.
  if (!isPlaced && !tokens.isWord(token - 1, 'AS')) return false;
  TQL_VERB.lastIndex = end;
  return TQL_VERB.test(tokens.source);
}

/**
 * Adds the tokens of a TQL statement after its first word: verb, options and parameters as in SQL, then the query as one
 * token. Returns the offset after it.
 */
function lexTql(source: string, start: number, tokens: Tokens): number {
  const isNested = tokens.isSymbol(tokens.count - 2, '(');
  let at = skipAllBlank(source, lexToken(source, skipAllBlank(source, start), tokens));
  for (TQL_OPTION.lastIndex = at; TQL_OPTION.test(source); TQL_OPTION.lastIndex = at) {
    const end = TQL_OPTION.lastIndex;
    while (at < end) at = skipAllBlank(source, lexToken(source, at, tokens));
  }
  if (source[at] === '(') at = lexParameters(source, at, tokens);
  const end = promqlEnd(source, at, isNested);
  const query = source.slice(at, end);
  if (query.trim() !== '') tokens.add(Kind.promql, at, at + query.trimEnd().length);
  return end;
}

function skipAllBlank(source: string, start: number): number {
  let at = start;
  for (let next = skipBlank(source, at); next !== at; next = skipBlank(source, at)) at = next;
  return at;
}

/** Adds the tokens of `( .. )` and of a following comma; returns the offset after them. */
function lexParameters(source: string, start: number, tokens: Tokens): number {
  let at = start;
  let depth = 0;
  while (at < source.length) {
    const token = tokens.count;
    at = skipAllBlank(source, lexToken(source, at, tokens));
    if (tokens.isSymbol(token, '(')) depth = deeper(depth, source, tokens.start(token));
    if (tokens.isSymbol(token, ')') && --depth === 0) break;
  }
  return source[at] === ',' ? skipAllBlank(source, at + 1) : at;
}

function deeper(depth: number, source: string, at: number): number {
  if (depth >= DEPTH_MAX) throw syntax(`parentheses are nested deeper than ${DEPTH_MAX}`, place(source, at));
  return depth + 1;
}

/** Returns the offset after white space and comments that begin at `at`. */
function skipBlank(source: string, at: number): number {
  const c = source.charCodeAt(at);
  if (c === 32 || (c >= 9 && c <= 13) || c === 0xa0 || c === 0xfeff) return at + 1;
  if (c === 45 && source.charCodeAt(at + 1) === 45) {
    const end = source.indexOf('\n', at);
    return end === -1 ? source.length : end + 1;
  }
  if (c === 47 && source.charCodeAt(at + 1) === 42) return skipBlockComment(source, at);
  return at;
}

function skipBlockComment(source: string, start: number): number {
  let depth = 0;
  let at = start;
  while (at < source.length) {
    if (source.startsWith('/*', at)) {
      depth++;
      at += 2;
    } else if (source.startsWith('*/', at)) {
      depth--;
      at += 2;
      if (depth === 0) return at;
    } else {
      at++;
    }
  }
  throw syntax('unclosed comment', place(source, start, 2));
}

/** Adds the token that begins at `at`; returns the offset after it. */
function lexToken(source: string, at: number, tokens: Tokens): number {
  const c = source[at];
  if (isDigit(c) || (c === '.' && isDigit(source[at + 1]))) return lexNumber(source, at, tokens);
  const kind = kindAt(source, at);
  const end = endOf(kind, source, at);
  tokens.add(kind, at, end);
  return end;
}

/** Returns the kind of the token that begins here, except numbers. */
function kindAt(source: string, at: number): SqlTokenKind {
  const c = source[at];
  const next = source[at + 1];
  if (c === "'") return Kind.text;
  if (c === '"' || c === '`') return Kind.quoted;
  if (next === "'" && (c === 'e' || c === 'E')) return Kind.escapeText;
  if (next === "'" && (c === 'x' || c === 'X')) return Kind.binary;
  if (isWordStart(c)) return Kind.word;
  return c === '$' && (isDigit(next) || isWordStart(next)) ? Kind.parameter : Kind.symbol;
}

function endOf(kind: SqlTokenKind, source: string, at: number): number {
  switch (kind) {
    case Kind.text:
      return closingQuote(source, at, "'");
    case Kind.quoted:
      return closingQuote(source, at, source[at]);
    case Kind.escapeText:
      return closingEscapeQuote(source, at + 1);
    case Kind.binary: {
      const end = closingQuote(source, at + 1, "'");
      checkHex(source.slice(at + 2, end - 1), place(source, at, end - at));
      return end;
    }
    case Kind.word:
      return wordEnd(source, at);
    case Kind.parameter:
      return wordEnd(source, at + 1);
    default:
      return symbolEnd(source, at);
  }
}

function closingQuote(source: string, start: number, quote: string): number {
  let at = start + 1;
  for (;;) {
    const end = source.indexOf(quote, at);
    if (end === -1) {
      throw syntax(`Unterminated ${quote === "'" ? 'string literal' : 'quoted identifier'}`, place(source, start));
    }
    if (source[end + 1] !== quote) return end + 1;
    at = end + 2;
  }
}

function closingEscapeQuote(source: string, start: number): number {
  let at = start + 1;
  while (at < source.length) {
    const c = source[at];
    if (c === '\\') at += 2;
    else if (c !== "'") at++;
    else if (source[at + 1] === "'") at += 2;
    else return at + 1;
  }
  throw syntax('Unterminated string literal', place(source, start));
}

/** Units of durations in other languages. */
const UNITS: ReadonlyMap<string, string> = new Map([
  ['ms', 'milliseconds'],
  ['s', 'seconds'],
  ['m', 'minutes'],
  ['h', 'hours'],
  ['d', 'days'],
  ['w', 'weeks'],
]);

const NUMBER = /(?:\d[\d_]*)?(?:\.\d*)?(?:[eE][+-]?\d+)?/y;
const HEX = /0[xX][0-9a-fA-F]+/y;

function lexNumber(source: string, at: number, tokens: Tokens): number {
  HEX.lastIndex = at;
  const hex = HEX.exec(source);
  if (hex !== null) {
    checkHex(hex[0].slice(2), place(source, at, hex[0].length));
    tokens.add(Kind.binary, at, HEX.lastIndex);
    return HEX.lastIndex;
  }
  NUMBER.lastIndex = at;
  const text = NUMBER.exec(source)?.[0] ?? '';
  // `1..2` is not a number: the second dot belongs to what follows.
  const end = at + text.length;
  if (isWordStart(source[end])) {
    const to = wordEnd(source, end);
    const unit = UNITS.get(source.slice(end, to).toLowerCase());
    const hint = unit === undefined ? '' : `: a duration is INTERVAL '${text} ${unit}'`;
    throw syntax(`trailing characters after number ${text}${hint}`, place(source, at, to - at));
  }
  tokens.add(/^[\d_]+$/.test(text) ? Kind.integer : Kind.decimal, at, end);
  return end;
}

function checkHex(digits: string, where: TextPlace): void {
  if (digits.length % 2 !== 0 || !/^[0-9a-fA-F]*$/.test(digits)) {
    throw syntax(`invalid binary literal ${digits.slice(0, 40)}`, where);
  }
}

function symbolEnd(source: string, at: number): number {
  const c = source[at];
  if (c === ':' && (source[at + 1] === ':' || source[at + 1] === '=')) return at + 2;
  if (PLAIN_SYMBOLS.includes(c)) return at + 1;
  if (!SYMBOL_CHARS.has(c)) throw syntax(`unexpected character ${JSON.stringify(c)}`, place(source, at));
  let end = at + 1;
  while (end < source.length && SYMBOL_CHARS.has(source[end])) {
    if (source.startsWith('--', end) || source.startsWith('/*', end)) break;
    end++;
  }
  return trimSign(source, at, end);
}

/** `=-1` is `=` and `-1`: an operator does not end in a sign, unless it contains a character that no simple operator has. */
function trimSign(source: string, start: number, end: number): number {
  if (/[~!@#%^&|?]/.test(source.slice(start, end))) return end;
  let to = end;
  while (to > start + 1 && (source[to - 1] === '+' || source[to - 1] === '-')) to--;
  return to;
}

function wordEnd(source: string, at: number): number {
  let end = at + 1;
  while (end < source.length && (isWordStart(source[end]) || isDigit(source[end]) || source[end] === '$')) end++;
  return end;
}

function isDigit(c: string | undefined): boolean {
  return c !== undefined && c >= '0' && c <= '9';
}

function isWordStart(c: string | undefined): boolean {
  return (
    c !== undefined &&
    ((c >= 'a' && c <= 'z') ||
      (c >= 'A' && c <= 'Z') ||
      c === '_' ||
      (c > '\u007f' && c !== '\u00a0' && c !== '\ufeff'))
  );
}

const QUOTES = new Set(['"', "'", '`']);

/** Returns the offset of the `;` after a PromQL query, or of the bracket that closes its context. */
function promqlEnd(source: string, start: number, isNested: boolean): number {
  let depth = 0;
  let at = start;
  while (at < source.length) {
    const c = source[at];
    if (c === ';') return at;
    if (QUOTES.has(c)) {
      at = promqlQuoteEnd(source, at, c);
      continue;
    }
    if (c === '#') {
      const end = source.indexOf('\n', at);
      if (end === -1) return source.length;
      at = end;
    }
    if (c === '(') depth++;
    if (c === ')' && --depth < 0 && isNested) return at;
    at++;
  }
  return at;
}

function promqlQuoteEnd(source: string, start: number, quote: string): number {
  let at = start + 1;
  while (at < source.length && source[at] !== quote) at += source[at] === '\\' && quote !== '`' ? 2 : 1;
  return Math.min(at + 1, source.length);
}

const ESCAPES: Readonly<Record<string, string>> = { n: '\n', t: '\t', r: '\r', b: '\b', f: '\f' };

function unescape(body: string): string {
  return body.replaceAll(/''|\\(u[0-9a-fA-F]{4}|x[0-9a-fA-F]{1,2}|[\s\S])/g, (_whole, code: string | undefined) => {
    if (code === undefined) return "'";
    if (code.length > 1) return String.fromCharCode(Number.parseInt(code.slice(1), 16));
    return ESCAPES[code] ?? code;
  });
}

function place(source: string, start: number, length = 1): TextPlace {
  return { source, start, end: start + length };
}

function syntax(reason: string, where: TextPlace): AlmanacError {
  return atPlace(new AlmanacError('invalid_syntax', `Invalid SQL syntax: sql parser error: ${reason}`), where);
}
