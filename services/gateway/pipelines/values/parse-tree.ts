import { AlmanacError } from '#shared/errors/almanac-error';

import { INT64_MAX, INT64_MIN, type ObjectValue, type PipelineValue } from './value.js';

/** Arrays and objects inside each other. */
const DEPTH_MAX = 64;
const SPACES = /[ \t\n\r]*/y;
const NUMBER = /-?(?:0|[1-9]\d*)(\.\d+)?([eE][+-]?\d+)?/y;
const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const SPACE = 0x20;
const WORDS: readonly (readonly [string, PipelineValue])[] = [
  ['true', true],
  ['false', false],
  ['null', null],
];

/**
 * Parses a JSON text to a value: integers without fraction and exponent that fit 64 bits are integers, all other numbers
 * floats. The last of several members with one key counts.
 *
 * @throws `invalid_arguments` with the position if the text is malformed, or has more than 64 levels.
 */
export function parseTree(text: string): PipelineValue {
  const parser = new TreeParser(text);
  const value = parser.value(0);
  parser.end();
  return value;
}

/** A reader of several JSON values that follow each other. */
export class TreeParser {
  readonly #text: string;
  #at = 0;

  constructor(text: string) {
    this.#text = text;
  }

  /** Checks that nothing but spaces follows. */
  end(): void {
    this.#match(SPACES);
    if (this.#at < this.#text.length) throw this.#malformed();
  }

  /** Reads the next value. @param depth number of arrays and objects around it. */
  value(depth: number): PipelineValue {
    this.#match(SPACES);
    const letter = this.#text[this.#at];
    if (letter === '"') return this.#string();
    if (letter === '{' || letter === '[') {
      if (depth >= DEPTH_MAX) throw new AlmanacError('invalid_arguments', `JSON has more than ${DEPTH_MAX} levels`);
      this.#at++;
      return letter === '{' ? this.#object(depth + 1) : this.#array(depth + 1);
    }
    for (const [word, value] of WORDS) {
      if (!this.#text.startsWith(word, this.#at)) continue;
      this.#at += word.length;
      return value;
    }
    return this.#number();
  }

  #array(depth: number): PipelineValue {
    const values: PipelineValue[] = [];
    if (this.#skips(']')) return values;
    do values.push(this.value(depth));
    while (this.#skips(','));
    if (!this.#skips(']')) throw this.#malformed();
    return values;
  }

  #object(depth: number): ObjectValue {
    const members: ObjectValue = new Map();
    if (this.#skips('}')) return members;
    do {
      this.#match(SPACES);
      const key = this.#string();
      if (!this.#skips(':')) throw this.#malformed();
      members.set(key, this.value(depth));
    } while (this.#skips(','));
    if (!this.#skips('}')) throw this.#malformed();
    return members;
  }

  #string(): string {
    const text = this.#text;
    const from = this.#at;
    if (text.charCodeAt(from) !== QUOTE) throw this.#malformed();
    let hasEscape = false;
    let at = from + 1;
    for (; text.charCodeAt(at) !== QUOTE; at++) {
      if (!(text.charCodeAt(at) >= SPACE)) throw this.#malformed();
      if (text.charCodeAt(at) !== BACKSLASH) continue;
      hasEscape = true;
      at++;
    }
    this.#at = at + 1;
    return hasEscape ? this.#unescaped(from) : text.slice(from + 1, at);
  }

  #unescaped(from: number): string {
    try {
      return JSON.parse(this.#text.slice(from, this.#at)) as string;
    } catch {
      throw this.#malformed();
    }
  }

  #number(): PipelineValue {
    const token = this.#match(NUMBER);
    if (token === undefined) throw this.#malformed();
    const [text, fraction, exponent] = token;
    if (fraction !== undefined || exponent !== undefined) return Number(text);
    const integer = BigInt(text);
    return integer >= INT64_MIN && integer <= INT64_MAX ? integer : Number(text);
  }

  #skips(letter: string): boolean {
    this.#match(SPACES);
    if (this.#text[this.#at] !== letter) return false;
    this.#at++;
    return true;
  }

  #match(pattern: RegExp): RegExpExecArray | undefined {
    pattern.lastIndex = this.#at;
    const match = pattern.exec(this.#text);
    if (match === null) return undefined;
    this.#at = pattern.lastIndex;
    return match;
  }

  #malformed(): AlmanacError {
    const before = this.#text.slice(0, this.#at).split('\n');
    const line = before.length;
    const column = before[line - 1].length + 1;
    return new AlmanacError('invalid_arguments', `expected value at line ${line} column ${column}`);
  }
}
