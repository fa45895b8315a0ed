import { AlmanacError } from '#shared/errors/almanac-error';

import { Kind, type Tokens } from './lex.js';
import { atPlace, type TextPlace } from './text-place.js';

/** A name of up to three parts; missing parts are empty. */
export interface ObjectName {
  readonly catalog: string;
  readonly schema: string;
  readonly name: string;
}

const OPENING = ['(', '[', '{'];
const CLOSING = [')', ']', '}'];

/** Creates the error for an empty quoted identifier. @param i index of its token. */
export function emptyName(tokens: Tokens, i: number): AlmanacError {
  const text = 'Invalid SQL syntax: sql parser error: empty quoted identifier';
  return atPlace(new AlmanacError('invalid_syntax', text), tokens.place(i));
}

/** Reads the tokens of one statement from left to right. */
export class Cursor {
  readonly tokens: Tokens;
  readonly from: number;
  readonly to: number;
  at: number;
  /** Whether errors leave out what they found, because it may be a password. */
  hidesRest = false;

  constructor(tokens: Tokens, from: number, to: number) {
    this.tokens = tokens;
    this.from = from;
    this.to = to;
    this.at = from;
  }

  get done(): boolean {
    return this.at >= this.to;
  }

  /** Returns whether these words come next, without reading them. */
  sees(...words: string[]): boolean {
    return words.every((word, i) => this.at + i < this.to && this.tokens.isWord(this.at + i, word));
  }

  seesSymbol(symbol: string): boolean {
    return !this.done && this.tokens.isSymbol(this.at, symbol);
  }

  seesInteger(): boolean {
    return !this.done && this.tokens.kind(this.at) === Kind.integer;
  }

  /** Reads these words if all of them come next. @returns whether they did. */
  accept(...words: string[]): boolean {
    if (!this.sees(...words)) return false;
    this.at += words.length;
    return true;
  }

  acceptSymbol(symbol: string): boolean {
    if (!this.seesSymbol(symbol)) return false;
    this.at++;
    return true;
  }

  expect(...words: string[]): void {
    for (const word of words) if (!this.accept(word)) throw this.unexpected(word);
  }

  expectSymbol(symbol: string): void {
    if (!this.acceptSymbol(symbol)) throw this.unexpected(symbol);
  }

  expectEnd(): void {
    if (!this.done) throw this.unexpected('end of statement');
  }

  /** Reads an identifier, folded to lower case unless quoted. */
  name(what: string): string {
    const kind = this.done ? 0 : this.tokens.kind(this.at);
    if (kind !== Kind.word && kind !== Kind.quoted) throw this.unexpected(what);
    const name = this.tokens.name(this.at);
    if (name === '') throw emptyName(this.tokens, this.at);
    this.at++;
    return name;
  }

  objectName(what: string): ObjectName {
    const parts = [this.name(what)];
    while (parts.length < 3 && this.acceptSymbol('.')) parts.push(this.name(what));
    const [name, schema = '', catalog = ''] = parts.reverse();
    return { catalog, schema, name };
  }

  /** Reads a string literal; with `allowQuoted` also a word in double quotes. */
  text(what: string, allowQuoted = false): string {
    const kind = this.done ? 0 : this.tokens.kind(this.at);
    if (kind === Kind.text || kind === Kind.escapeText) return this.tokens.textValue(this.at++);
    if (allowQuoted && kind === Kind.quoted) return this.tokens.name(this.at++);
    throw this.unexpected(what);
  }

  integer(what: string): number {
    if (!this.seesInteger()) throw this.unexpected(what);
    return Number(this.tokens.raw(this.at++));
  }

  /** Skips to a comma or closing parenthesis at this level; returns the token range. */
  skipExpression(): { from: number; to: number } {
    const from = this.at;
    let depth = 0;
    for (; this.at < this.to; this.at++) {
      if (this.#seesAny(OPENING)) depth++;
      else if (depth === 0 && (this.seesSymbol(')') || this.seesSymbol(','))) break;
      else if (this.#seesAny(CLOSING)) depth--;
    }
    return { from, to: this.at };
  }

  #seesAny(symbols: readonly string[]): boolean {
    return symbols.some((symbol) => this.seesSymbol(symbol));
  }

  unexpected(expected: string): AlmanacError {
    const found = this.done ? 'EOF' : this.hidesRest ? '***' : this.tokens.raw(this.at).slice(0, 50);
    const text = `Unexpected token while parsing SQL statement, expected: '${expected}', found: ${found}${this.#placeText()}`;
    return atPlace(new AlmanacError('invalid_syntax', text), this.place);
  }

  /** The present token, or the end of the statement. */
  get place(): TextPlace {
    const { tokens } = this;
    if (!this.done) return tokens.place(this.at);
    const end = this.to === 0 ? 0 : tokens.end(this.to - 1);
    return { source: tokens.source, start: end, end };
  }

  /** Returns where the present token is, if the text has several lines. */
  #placeText(): string {
    if (this.done) return '';
    const lines = this.tokens.source.slice(0, this.tokens.start(this.at)).split('\n');
    return lines.length === 1 ? '' : ` at line ${lines.length}, column ${(lines.at(-1)?.length ?? 0) + 1}`;
  }
}
