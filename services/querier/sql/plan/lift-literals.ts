import { quoteName, quoteText } from '#shared/duckdb/quote';
import { AlmanacError } from '#shared/errors/almanac-error';

import { emptyName } from '../syntax/cursor.js';
import { Kind, type Tokens } from '../syntax/lex.js';
import { countOf, doubleSql, isInteger, literalSql, sizedInteger, type Literal } from '../syntax/literals.js';
import type { QueryText } from '../syntax/query-text.js';
import { atPlace, type TextPlace } from '../syntax/text-place.js';

/** A query in the engine's syntax, with its literals replaced by parameters. */
export interface LiftedQuery {
  /** Text with `$1`, `$2`, .. in place of literals: the same for all queries of one shape. */
  readonly sql: string;
  readonly literals: readonly Literal[];
  /** Token of each literal, without its sign; -1 if it was only lifted because it is long. */
  readonly literalTokens: readonly number[];
}

/** Words after which a literal is a plain value, so that a parameter may replace it. */
const BEFORE_VALUE = new Set('AND OR NOT BETWEEN LIKE ILIKE THEN WHEN ELSE SELECT WHERE HAVING ON IN'.split(' '));
const BEFORE_COUNT = new Set(['LIMIT', 'OFFSET']);
/** Words before `(` whose arguments the parser or the planner must see. */
const KEEPS_ARGUMENTS = new Set(
  'DATE_TRUNC DATETRUNC DATE_PART DATEPART DATE_BIN TIME_BUCKET DATE_FORMAT TO_CHAR DECIMAL NUMERIC VARCHAR CHAR TIMESTAMP TIME FLOAT BIT TABLESAMPLE SAMPLE MATCHES JSON_GET JSON_GET_INT JSON_GET_FLOAT JSON_GET_BOOL JSON_GET_STRING JSON_GET_OBJECT ARROW_CAST NAMED_STRUCT GET_FIELD'.split(
    ' ',
  ),
);

/** Type names of this dialect that mean something else to the engine, where a type is expected. */
const TYPE_NAMES: Readonly<Record<string, string>> = {
  timestamp: 'timestamp_ms',
  timestamp_sec: 'timestamp_s',
  timestampsecond: 'timestamp_s',
  timestampmillisecond: 'timestamp_ms',
  timestampmicrosecond: 'timestamp',
  timestampnanosecond: 'timestamp_ns',
  datetime: 'timestamp',
  timestamp_us: 'timestamp',
  string: 'varchar',
  float32: 'float',
  float64: 'double',
  int64: 'bigint',
  int32: 'integer',
  int16: 'smallint',
  uint64: 'ubigint',
  uint32: 'uinteger',
  uint16: 'usmallint',
  uint8: 'utinyint',
  tinytext: 'varchar',
  mediumtext: 'varchar',
  longtext: 'varchar',
};
const UNSIGNED: Readonly<Partial<Record<string, string>>> = {
  tinyint: 'utinyint',
  smallint: 'usmallint',
  int: 'uinteger',
  integer: 'uinteger',
  bigint: 'ubigint',
};
/** The engine reads `~` as a match of the whole text; its grammar passes other operators on as functions. */
const OPERATORS: Readonly<Partial<Record<string, string>>> = { '~': '@~@', '!~': '!@~@' };

const PRECISIONS: Readonly<Record<string, string>> = {
  0: 'timestamp_s',
  3: 'timestamp_ms',
  6: 'timestamp',
  9: 'timestamp_ns',
};

/**
 * Rewrites tokens `[from, to)` of a query for the engine's parser: names are folded to lower case unless quoted, types and
 * operators get the engine's words, `LIMIT n, m` becomes `LIMIT m OFFSET n`, and literals become parameters.
 *
 * @param keepLiterals leaves literals in the text, for the rare grammar that accepts no parameter in their place.
 */
export function lift(tokens: Tokens, from: number, to: number, keepLiterals: boolean): LiftedQuery {
  const lifter = new Lifter(tokens, to, keepLiterals);
  for (let i = from; i < to;) i = lifter.take(i);
  const { parts, literals, literalTokens } = lifter;
  return { sql: parts.join(' '), literals, literalTokens };
}

/**
 * Returns the token of a query whose text begins at an offset of what `lift` makes of it with its literals; undefined if
 * none does, because several tokens were rewritten together.
 *
 * @param offset in characters of Unicode.
 */
export function liftedPlace({ tokens, from, to }: QueryText, offset: number): TextPlace | undefined {
  const lifter = new Lifter(tokens, to, true);
  let begin = 0;
  for (let i = from; i < to && begin <= offset;) {
    const [token, partCount] = [i, lifter.parts.length];
    i = lifter.take(i);
    if (begin === offset && lifter.parts.length > partCount) return tokens.place(token);
    for (const part of lifter.parts.slice(partCount)) begin += Array.from(part).length + 1;
  }
  return undefined;
}

class Lifter {
  readonly parts: string[] = [];
  readonly literals: Literal[] = [];
  readonly literalTokens: number[] = [];
  readonly #tokens: Tokens;
  readonly #to: number;
  readonly #keepLiterals: boolean;
  /** For each open parenthesis: whether literals directly inside stay, and whether it belongs to a CAST. */
  readonly #open: { keeps: boolean; isCast: boolean }[] = [];

  constructor(tokens: Tokens, to: number, keepLiterals: boolean) {
    this.#tokens = tokens;
    this.#to = to;
    this.#keepLiterals = keepLiterals;
  }

  /** Writes the token at `i`, or several that belong together; returns the index after them. */
  take(i: number): number {
    switch (this.#tokens.kind(i)) {
      case Kind.word:
        return this.#word(i);
      case Kind.quoted:
        this.parts.push(quoteName(nameOf(this.#tokens, i)));
        return i + 1;
      case Kind.parameter:
        throw noParameters(this.#tokens, i);
      case Kind.symbol:
        return this.#symbol(i);
      default:
        this.#literal(i, this.#literalAt(i), i);
        return i + 1;
    }
  }

  #word(i: number): number {
    const tokens = this.#tokens;
    const word = tokens.raw(i).toLowerCase();
    if (word === 'limit') {
      const end = this.#limitPair(i);
      if (end !== i) return end;
    }
    if (word === 'current_timestamp' && !tokens.isSymbol(i - 1, '.')) {
      this.parts.push('now()');
      return tokens.isSymbol(i + 1, '(') && tokens.isSymbol(i + 2, ')') ? i + 3 : i + 1;
    }
    if (
      word === 'left' &&
      (tokens.isWord(i + 1, 'SEMI') || tokens.isWord(i + 1, 'ANTI')) &&
      tokens.isWord(i + 2, 'JOIN')
    ) {
      return i + 1;
    }
    if (this.#isTypePlace(i)) return this.#typeName(i, word);
    if (word === 'approx_percentile_cont') return this.#orderedAggregate(i, word);
    this.parts.push(this.#isExclusion(i, word) ? 'exclude' : word);
    return i + 1;
  }

  /** Returns whether `* EXCEPT (a, b)` is at `i`: all columns but these. */
  #isExclusion(i: number, word: string): boolean {
    const tokens = this.#tokens;
    const isList = tokens.isSymbol(i - 1, '*') && tokens.isSymbol(i + 1, '(') && !tokens.isWord(i + 2, 'SELECT');
    return word === 'except' && isList;
  }

  /**
   * Writes `f(q) WITHIN GROUP (ORDER BY x)` as `f(x, q)`: the engine's parser only knows its own ordered aggregates. The
   * quantile from the other end is `1 - q`.
   */
  #orderedAggregate(i: number, word: string): number {
    const tokens = this.#tokens;
    this.parts.push(word);
    const end = tokens.isSymbol(i + 1, '(') ? this.#closing(i + 1) : -1;
    const isOrdered =
      end !== -1 &&
      tokens.isWord(end + 1, 'WITHIN') &&
      tokens.isWord(end + 2, 'GROUP') &&
      tokens.isSymbol(end + 3, '(') &&
      tokens.isWord(end + 4, 'ORDER') &&
      tokens.isWord(end + 5, 'BY');
    const last = isOrdered ? this.#closing(end + 3) : -1;
    if (last === -1) return i + 1;
    const isDescending = tokens.isWord(last - 1, 'DESC');
    const hasDirection = isDescending || tokens.isWord(last - 1, 'ASC');
    this.#open.push({ keeps: false, isCast: false });
    this.parts.push('(');
    this.#range(end + 6, hasDirection ? last - 1 : last);
    this.parts.push(isDescending ? ', 1 - (' : ', (');
    this.#range(i + 2, end);
    this.parts.push(') )');
    this.#open.pop();
    return last + 1;
  }

  #range(from: number, to: number): void {
    for (let i = from; i < to;) i = this.take(i);
  }

  /** Returns the index of the parenthesis that closes the one at `i`, or -1. */
  #closing(i: number): number {
    let depth = 0;
    for (let at = i; at < this.#to; at++) {
      if (this.#tokens.isSymbol(at, '(')) depth++;
      else if (this.#tokens.isSymbol(at, ')') && --depth === 0) return at;
    }
    return -1;
  }

  /** `LIMIT skip, count` of MySQL. */
  #limitPair(i: number): number {
    const tokens = this.#tokens;
    if (tokens.kind(i + 1) !== Kind.integer || !tokens.isSymbol(i + 2, ',') || tokens.kind(i + 3) !== Kind.integer) {
      return i;
    }
    this.parts.push('limit');
    this.#value(i + 3, countOf(this.#literalAt(i + 3)), true);
    this.parts.push('offset');
    this.#value(i + 1, countOf(this.#literalAt(i + 1)), true);
    return i + 4;
  }

  #isTypePlace(i: number): boolean {
    const tokens = this.#tokens;
    if (tokens.isSymbol(i - 1, '::')) return true;
    if (tokens.isWord(i - 1, 'AS') && this.#open.at(-1)?.isCast === true) return true;
    return (
      tokens.kind(i + 1) === Kind.text &&
      i + 1 < this.#to &&
      tokens.raw(i).toLowerCase() in TYPE_NAMES &&
      !tokens.isSymbol(i - 1, '.')
    );
  }

  #typeName(i: number, word: string): number {
    const tokens = this.#tokens;
    if (word === 'timestamp' && tokens.isSymbol(i + 1, '(') && tokens.isSymbol(i + 3, ')')) {
      const name = PRECISIONS[tokens.raw(i + 2)] as string | undefined;
      if (name === undefined) {
        throw new AlmanacError(
          'invalid_syntax',
          `Invalid SQL syntax: sql parser error: invalid timestamp precision ${tokens.raw(i + 2).slice(0, 20)}`,
        );
      }
      this.parts.push(name);
      return i + 4;
    }
    const unsigned = tokens.isWord(i + 1, 'UNSIGNED') ? UNSIGNED[word] : undefined;
    if (unsigned !== undefined) {
      this.parts.push(unsigned);
      return i + 2;
    }
    if ((word === 'decimal' || word === 'numeric') && !tokens.isSymbol(i + 1, '(')) {
      this.parts.push('decimal ( 38 , 10 )');
      return i + 1;
    }
    const isZoned = word === 'timestamp' && (tokens.isWord(i + 1, 'WITH') || tokens.isWord(i + 1, 'WITHOUT'));
    this.parts.push(isZoned ? word : (TYPE_NAMES[word] ?? word));
    return i + 1;
  }

  #symbol(i: number): number {
    const tokens = this.#tokens;
    const symbol = tokens.raw(i);
    if (symbol === '?') throw noParameters(tokens, i);
    this.#bracket(symbol, i);
    const hasNulls = tokens.isWord(i + 1, 'IGNORE') || tokens.isWord(i + 1, 'RESPECT');
    if (symbol === ')' && hasNulls && tokens.isWord(i + 2, 'NULLS')) {
      this.parts.push(tokens.raw(i + 1), 'nulls )');
      return i + 3;
    }
    // A cast binds tighter than the sign.
    if (symbol === '-' && this.#isUnary(i) && this.#isNumber(i + 1) && !tokens.isSymbol(i + 2, '::')) {
      const { kind, value } = this.#literalAt(i + 1);
      this.#literal(i + 1, isInteger(kind) ? sizedInteger(`-${value}`) : { kind, value: `-${value}` }, i);
      return i + 2;
    }
    this.parts.push(OPERATORS[symbol] ?? symbol);
    return i + 1;
  }

  #bracket(symbol: string, i: number): void {
    const tokens = this.#tokens;
    if (symbol === '(') {
      const isCast = tokens.isWord(i - 1, 'CAST') || tokens.isWord(i - 1, 'TRY_CAST');
      this.#open.push({ keeps: this.#keepsArguments(i - 1), isCast });
    }
    if (symbol === '[' || symbol === '{') this.#open.push({ keeps: false, isCast: false });
    if (symbol === ')' || symbol === ']' || symbol === '}') this.#open.pop();
  }

  #keepsArguments(i: number): boolean {
    return this.#tokens.kind(i) === Kind.word && KEEPS_ARGUMENTS.has(this.#tokens.raw(i).toUpperCase());
  }

  #isUnary(i: number): boolean {
    const kind = this.#tokens.kind(i - 1);
    if (kind === Kind.symbol) return !this.#tokens.isSymbol(i - 1, ')') && !this.#tokens.isSymbol(i - 1, ']');
    return kind === Kind.word && BEFORE_VALUE.has(this.#tokens.raw(i - 1).toUpperCase());
  }

  #isNumber(i: number): boolean {
    const kind = i < this.#to ? this.#tokens.kind(i) : 0;
    return kind === Kind.integer || kind === Kind.decimal;
  }

  /** @param first index of the literal's first token: its sign, if it has one. */
  #literal(i: number, literal: Literal, first: number): void {
    const kept = BEFORE_COUNT.has(this.#wordBefore(first)) ? countOf(literal) : literal;
    this.#value(i, kept, this.#mayLift(i, first, kept));
  }

  #value(i: number, literal: Literal, mayLift: boolean): void {
    // Beyond 2^53 a number would lose digits in JSON.
    const mustLift = isInteger(literal.kind) && literal.value.length > 15;
    if (mustLift || (mayLift && !this.#keepLiterals)) {
      this.literals.push(literal);
      this.literalTokens.push(mayLift ? i : -1);
      this.parts.push(`$${this.literals.length}`);
    } else {
      this.parts.push(
        literal.kind === 'text'
          ? quoteText(literal.value)
          : literal.kind === 'decimal'
            ? doubleSql(literal.value)
            : literalSql(literal),
      );
    }
  }

  #mayLift(i: number, first: number, literal: Literal): boolean {
    const tokens = this.#tokens;
    if (this.#open.at(-1)?.keeps === true) return false;
    if (tokens.isSymbol(i + 1, ':')) return false; // a key of a struct
    if (tokens.kind(first - 1) === Kind.symbol) {
      return !tokens.isSymbol(first - 1, '::') && !tokens.isSymbol(first - 1, '.');
    }
    const before = this.#wordBefore(first);
    return BEFORE_VALUE.has(before) || (literal.kind === 'integer' && BEFORE_COUNT.has(before));
  }

  /** Returns the word before a token in upper case; '' if there is none. */
  #wordBefore(i: number): string {
    return this.#tokens.kind(i - 1) === Kind.word ? this.#tokens.raw(i - 1).toUpperCase() : '';
  }

  #literalAt(i: number): Literal {
    const tokens = this.#tokens;
    switch (tokens.kind(i)) {
      case Kind.integer:
        return sizedInteger(tokens.raw(i).replaceAll('_', ''));
      case Kind.decimal:
        return { kind: 'decimal', value: tokens.raw(i).replaceAll('_', '') };
      case Kind.binary:
        return { kind: 'binary', value: tokens.hexValue(i) };
      default:
        return { kind: 'text', value: tokens.textValue(i) };
    }
  }
}

function nameOf(tokens: Tokens, i: number): string {
  const name = tokens.name(i);
  if (name === '') throw emptyName(tokens, i);
  return name;
}

function noParameters(tokens: Tokens, i: number): AlmanacError {
  const text = `Invalid SQL syntax: sql parser error: parameters are not supported: ${tokens.raw(i).slice(0, 40)}`;
  return atPlace(new AlmanacError('invalid_syntax', text), tokens.place(i));
}

/** Returns what queries with the same plan have in common. Kinds of literals determine how a query is rewritten. */
export function planShapeOf(lifted: LiftedQuery): string {
  let kinds = '';
  for (const literal of lifted.literals) kinds += literal.kind[0];
  return `${kinds}\0${lifted.sql}`;
}
