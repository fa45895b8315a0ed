import { AlmanacError } from '#shared/errors/almanac-error';

import { checkLength, checkNesting, parseError } from './parse-error.js';
import { readQuoted, readRaw } from './string-literal.js';

/** Kinds of PromQL tokens. */
export type PromTokenKind =
  'identifier' | 'string' | 'number' | 'duration' | 'keyword' | 'aggregator' | 'operator' | 'punctuation' | 'end';

/** A token of a query. */
export interface PromToken {
  readonly kind: PromTokenKind;
  /** Text of the query; keywords, aggregations and operators in lower case. */
  readonly text: string;
  readonly start: number;
  readonly end: number;
  /** Value of a string literal. */
  readonly value?: string;
}

const WORD_OPERATORS: ReadonlySet<string> = new Set(['and', 'or', 'unless', 'atan2']);
const KEYWORDS: ReadonlySet<string> = new Set(
  (
    'offset by without on ignoring group_left group_right bool ' +
    'start end step range anchored smoothed max_of min_of'
  ).split(' '),
);
/** Words that are keywords before a parenthesis only. */
const FILLS: ReadonlySet<string> = new Set(['fill', 'fill_left', 'fill_right']);
const DURATION_WORDS: ReadonlySet<string> = new Set(['step', 'range', 'min_of', 'max_of']);

const SPACE = /(?:[ \t\r\n]|#[^\n]*)*/y;
const WORD = /[A-Za-z_:][A-Za-z0-9_:]*/y;
const LABEL = /[A-Za-z_][A-Za-z0-9_]*/y;
const NUMBER = /0[xX][0-9a-fA-F_]+|(?:\d[\d_]*)?(?:\.[\d_]*)?(?:[eE][+-]?\d+)?/y;
const DURATION = /\d+(?:ms|[smhdwy])(?:\d+(?:ms|[smhdw]))*/y;
/** An invalid duration, so that the error can show all of it. */
const UNITS = /\d+[smhdwy]s?(?:\d+[smhdw]s?)*/y;
const SYMBOL = /==|!=|<=|<\/|<|>=|>\/|>|[+\-*/%^@]/y;

const MATCH_OPERATOR = /=~|!~|!=|=/y;

/** The tokens of a query; the last is `end`. */
export interface LexedQuery {
  readonly tokens: readonly PromToken[];
  /** Why tokenizing stopped at the last token; undefined at the end of the query. */
  readonly error: AlmanacError | undefined;
}

/**
 * Splits a query into tokens. An error is returned with the tokens before it, because an error of the grammar in these has
 * precedence.
 *
 * @throws `invalid_syntax` for a query that is too long or nested too deeply.
 */
export function tokenizePromql(query: string, aggregations: AggregationNames): LexedQuery {
  checkLength(query);
  const lexer = new Lexer(query, aggregations);
  let error: AlmanacError | undefined;
  try {
    lexer.run();
  } catch (thrown) {
    error = AlmanacError.from(thrown);
  }
  const tokens = lexer.finished();
  checkNesting(query, tokens);
  return { tokens, error };
}

type AggregationNames = Pick<ReadonlySet<string>, 'has'>;

class Lexer {
  readonly #query: string;
  readonly #aggregations: AggregationNames;
  readonly #tokens: PromToken[] = [];
  #at = 0;
  #parentheses = 0;

  constructor(query: string, aggregations: AggregationNames) {
    this.#query = query;
    this.#aggregations = aggregations;
  }

  /** Reads the whole query. @throws `invalid_syntax` with line and column. */
  run(): void {
    for (;;) {
      this.#at += this.#match(SPACE)?.length ?? 0;
      if (this.#at >= this.#query.length) break;
      const char = this.#query[this.#at];
      if (char === '{') this.#braces();
      else if (char === '[') this.#brackets();
      else this.#statement(char);
    }
    if (this.#parentheses > 0) throw this.#error('unclosed left parenthesis', this.#query.length);
  }

  /** Returns the tokens read so far, and the end. */
  finished(): readonly PromToken[] {
    this.#push('end', 0);
    return this.#tokens;
  }

  #statement(char: string): void {
    if (this.#common(char)) return;
    const word = this.#match(WORD);
    if (word !== undefined) return this.#word(word);
    if (char === ']') throw this.#error("unexpected right bracket ']'");
    if (char === '}') throw this.#error("unexpected character: '}'");
    if (char === '=' && this.#query[this.#at + 1] === '~') throw this.#error("unexpected character after '=': '~'");
    if (char === '!' && this.#query[this.#at + 1] !== '=') {
      throw this.#error(`unexpected character after '!': ${quotedCharacter(this.#query, this.#at + 1)}`);
    }
    const symbol = this.#match(SYMBOL);
    if (symbol !== undefined) return this.#push('operator', symbol.length);
    if (char === ',' || char === '=') return this.#push('punctuation', 1);
    throw this.#error(`unexpected character: ${quotedCharacter(this.#query, this.#at)}`);
  }

  /** Reads a parenthesis, number or string. */
  #common(char: string): boolean {
    if (char === '(') {
      this.#parentheses++;
      this.#push('punctuation', 1);
    } else if (char === ')') {
      if (this.#parentheses-- === 0) throw this.#error("unexpected right parenthesis ')'", this.#at + 1);
      this.#push('punctuation', 1);
    } else if (isDigit(char) || (char === '.' && isDigit(this.#query[this.#at + 1]))) {
      this.#number();
    } else if (char === '"' || char === "'" || char === '`') {
      this.#string(char);
    } else {
      return false;
    }
    return true;
  }

  #word(written: string): void {
    const word = written.toLowerCase();
    const isCall = (): boolean => /^[ \t\r\n]*\(/.test(this.#query.slice(this.#at + written.length));
    if (word === 'inf' || word === 'nan') this.#push('number', written.length);
    else if (this.#aggregations.has(word)) this.#push('aggregator', written.length);
    else if (WORD_OPERATORS.has(word)) this.#push('operator', written.length);
    else if (KEYWORDS.has(word) || (FILLS.has(word) && isCall())) this.#push('keyword', written.length);
    else this.#push('identifier', written.length);
  }

  #number(): void {
    const number = this.#match(NUMBER) ?? '';
    const isWhole = (length: number): boolean => !/[A-Za-z0-9_]/.test(this.#query[this.#at + length] ?? '');
    if (isWhole(number.length) && !/__|_$|_\.|\._/.test(number)) return this.#push('number', number.length);
    const duration = this.#match(DURATION) ?? this.#match(UNITS);
    if (duration !== undefined && isWhole(duration.length)) return this.#push('duration', duration.length);
    throw this.#error(`bad number or duration syntax: ${JSON.stringify(duration ?? number)}`);
  }

  #string(quote: string): void {
    const { value, end } =
      quote === '`' ? readRaw(this.#query, this.#at) : readQuoted(this.#query, this.#at, this.#query[this.#at]);
    this.#tokens.push({ kind: 'string', text: this.#query.slice(this.#at, end), start: this.#at, end, value });
    this.#at = end;
  }

  /** Reads label matchers, in which keywords are plain names. */
  #braces(): void {
    this.#push('punctuation', 1);
    for (;;) {
      this.#at += this.#match(SPACE)?.length ?? 0;
      const char = this.#query[this.#at];
      if (char === undefined) throw this.#error('unexpected end of input inside braces');
      if (char === '}') return this.#push('punctuation', 1);
      if (char === '"' || char === "'" || char === '`') this.#string(char);
      else if (char === ',') this.#push('punctuation', 1);
      else if (char === '{') throw this.#error("unexpected left brace '{'");
      else this.#matcher(char);
    }
  }

  #matcher(char: string): void {
    const label = this.#match(LABEL);
    if (label !== undefined) return this.#push('identifier', label.length, label);
    const operator = this.#match(MATCH_OPERATOR);
    if (operator === '=') return this.#push('punctuation', 1);
    if (operator !== undefined) return this.#push('operator', operator.length);
    if (char === '!') {
      throw this.#error(`unexpected character after '!' inside braces: ${quotedCharacter(this.#query, this.#at + 1)}`);
    }
    throw this.#error(`unexpected character inside braces: ${quotedCharacter(this.#query, this.#at)}`);
  }

  /** Reads a range, or the range and step of a subquery. */
  #brackets(): void {
    this.#push('punctuation', 1);
    const outer = this.#parentheses;
    let colons = 0;
    for (let first = true; ; first = false) {
      this.#at += this.#match(SPACE)?.length ?? 0;
      const char = this.#query[this.#at];
      if (char === undefined) throw this.#error('unclosed left bracket');
      if (char === ']') {
        if (this.#parentheses > outer) throw this.#error('unclosed left parenthesis');
        return this.#push('punctuation', 1);
      }
      if (char === ':') {
        if (first) throw this.#error('unexpected colon before duration in duration expression');
        if (++colons > 1) throw this.#error("unexpected colon ':'");
        this.#push('punctuation', 1);
      } else {
        this.#duration(char);
      }
    }
  }

  #duration(char: string): void {
    if (char !== '"' && char !== "'" && char !== '`' && this.#common(char)) return;
    const word = this.#match(LABEL)?.toLowerCase();
    if (word !== undefined && DURATION_WORDS.has(word)) return this.#push('keyword', word.length);
    if (char === ',') return this.#push('punctuation', 1);
    if ('+-*/%^'.includes(char)) return this.#push('operator', 1);
    throw this.#error(`unexpected character in duration expression: ${quotedCharacter(this.#query, this.#at)}`);
  }

  #push(kind: PromTokenKind, length: number, text?: string): void {
    const start = this.#at;
    const end = start + length;
    const written = this.#query.slice(start, end);
    const isWord = kind === 'keyword' || kind === 'aggregator' || kind === 'operator';
    this.#tokens.push({ kind, text: text ?? (isWord ? written.toLowerCase() : written), start, end });
    this.#at = end;
  }

  #match(pattern: RegExp): string | undefined {
    pattern.lastIndex = this.#at;
    const found = pattern.exec(this.#query)?.[0];
    return found === '' ? undefined : found;
  }

  #error(text: string, at = this.#at): Error {
    return parseError(this.#query, at, text);
  }
}

function isDigit(char: string | undefined): boolean {
  return char !== undefined && char >= '0' && char <= '9';
}

/** Formats the character at a position as Go's `%q` does. */
function quotedCharacter(query: string, at: number): string {
  const point = query.codePointAt(at);
  if (point === undefined) return "'￿'";
  const char = String.fromCodePoint(point);
  return char === "'" ? "'\\''" : `'${JSON.stringify(char).slice(1, -1).replace('\\"', '"')}'`;
}
