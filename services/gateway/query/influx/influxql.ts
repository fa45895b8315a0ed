import { AlmanacError } from '#shared/errors/almanac-error';

/** Kind of a token of InfluxQL. */
type TokenKind = 'word' | 'name' | 'text' | 'pattern' | 'number' | 'symbol' | 'end';

interface Token {
  readonly kind: TokenKind;
  /** Without quotes and escapes. */
  readonly value: string;
  /** Position of its first character. */
  readonly at: number;
}

const QUERY_CHARACTERS_MAX = 64 * 1024;
const STATEMENTS_MAX = 1_000;

/** The kinds of tokens; each expression is anchored, and none can match the empty text. */
const TOKENS: readonly (readonly [TokenKind | 'space', RegExp])[] = [
  ['space', /(?:\s|--[^\n]*|\/\*[^]*?\*\/)+/y],
  ['number', /\d[\da-zA-Zµ.]*/y],
  ['word', /[\p{L}_][\p{L}\p{N}_]*/uy],
  ['name', /"((?:[^"\\\n]|\\.)*)"/y],
  ['text', /'((?:[^'\\\n]|\\.)*)'/y],
  ['symbol', /=~|!~|!=|<>|<=|>=|::|[=;,.()*<>+%-]/y],
  ['pattern', /\/((?:[^/\\\n]|\\.)*)\//y],
];
const ESCAPE = /\\([\\"'n])/g;

/** A condition on a name: equal to a text, or found by a regular expression. */
export interface NameCondition {
  readonly isPattern: boolean;
  readonly isNegative: boolean;
  readonly value: string;
}

/** A position in the text of a query. */
export class InfluxCursor {
  readonly #text: string;
  readonly #tokens: readonly Token[];
  #next = 0;

  /** @throws `invalid_syntax`. */
  constructor(text: string) {
    if (text.length > QUERY_CHARACTERS_MAX) {
      throw new AlmanacError('invalid_syntax', `query is longer than ${QUERY_CHARACTERS_MAX} characters`);
    }
    this.#text = text;
    this.#tokens = tokensOf(text);
  }

  get isAtEnd(): boolean {
    return this.#token.kind === 'end';
  }

  /** Accepts these keywords, all or none of them. */
  accept(...words: readonly string[]): boolean {
    const sees = words.every((word, i) => {
      const { kind, value } = this.#tokens[Math.min(this.#next + i, this.#tokens.length - 1)];
      return kind === 'word' && value.toUpperCase() === word;
    });
    if (sees) this.#next += words.length;
    return sees;
  }

  acceptSymbol(symbol: string): boolean {
    const { kind, value } = this.#token;
    if (kind !== 'symbol' || value !== symbol) return false;
    this.#next++;
    return true;
  }

  /** @throws `invalid_syntax` as all methods below. */
  expect(word: string): void {
    if (!this.accept(word)) throw this.unexpected(word);
  }

  /** Reads the name of a database, retention policy or measurement, in quotes or not. */
  name(): string {
    const { kind, value } = this.#token;
    if ((kind !== 'word' && kind !== 'name') || value === '') throw this.unexpected('identifier');
    this.#next++;
    return value;
  }

  /** Reads a text in single quotes; undefined if there is none. */
  acceptText(): string | undefined {
    return this.#acceptKind('text');
  }

  /** Reads the source of a regular expression; undefined if there is none. */
  acceptPattern(): string | undefined {
    return this.#acceptKind('pattern');
  }

  /** Reads a number with or without a unit; undefined if there is none. */
  acceptNumber(): string | undefined {
    return this.#acceptKind('number');
  }

  number(): number {
    const { kind, value } = this.#token;
    if (kind !== 'number' || !/^\d{1,15}$/.test(value)) throw this.unexpected('integer');
    this.#next++;
    return Number(value);
  }

  /** Reads a duration and returns it in nanoseconds; 0 for `INF`. */
  durationNs(): bigint {
    if (this.accept('INF')) return 0n;
    const { kind, value } = this.#token;
    const ns = kind === 'number' ? influxDurationNs(value) : undefined;
    if (ns === undefined) throw this.unexpected('duration');
    this.#next++;
    return ns;
  }

  /** Reads an operator, and what it compares with; without `operators` a name or a regular expression alone. */
  condition(operators: readonly string[]): NameCondition {
    const operator = operators.find((symbol) => this.acceptSymbol(symbol));
    if (operators.length > 0 && operator === undefined) throw this.unexpected(operators.join(', '));
    const { kind, value } = this.#token;
    const takesPattern = operator?.endsWith('~') ?? kind === 'pattern';
    if (kind === 'pattern' && takesPattern) {
      this.#next++;
      return { isPattern: true, isNegative: operator === '!~', value };
    }
    if (takesPattern) throw this.unexpected('regex');
    return { isPattern: false, isNegative: operator === '!=', value: this.name() };
  }

  /** Returns the error of a token that no statement can have here. */
  unexpected(expected: string): AlmanacError {
    const { kind, value, at } = this.#token;
    const before = this.#text.slice(0, at).split('\n');
    const position = `line ${before.length}, char ${before[before.length - 1].length + 1}`;
    const found = kind === 'end' ? 'EOF' : value.slice(0, 100);
    return new AlmanacError('invalid_syntax', `found ${found}, expected ${expected} at ${position}`);
  }

  #acceptKind(wanted: TokenKind): string | undefined {
    const { kind, value } = this.#token;
    if (kind !== wanted) return undefined;
    this.#next++;
    return value;
  }

  get #token(): Token {
    return this.#tokens[this.#next];
  }
}

/** Reads all statements of a query. @param readStatement reads one, without the semicolon after it. */
export function readStatements<T>(text: string, readStatement: (cursor: InfluxCursor) => T): T[] {
  const cursor = new InfluxCursor(text);
  const statements: T[] = [];
  while (!cursor.isAtEnd) {
    if (cursor.acceptSymbol(';')) continue;
    if (statements.length === STATEMENTS_MAX) {
      throw new AlmanacError('invalid_syntax', `query has more than ${STATEMENTS_MAX} statements`);
    }
    statements.push(readStatement(cursor));
    if (!cursor.isAtEnd && !cursor.acceptSymbol(';')) throw cursor.unexpected('; or EOF');
  }
  return statements;
}

const DURATION_UNITS_NS: ReadonlyMap<string, bigint> = new Map([
  ['ns', 1n],
  ['u', 1_000n],
  ['µ', 1_000n],
  ['us', 1_000n],
  ['ms', 1_000_000n],
  ['s', 1_000_000_000n],
  ['m', 60_000_000_000n],
  ['h', 3_600_000_000_000n],
  ['d', 86_400_000_000_000n],
  ['w', 604_800_000_000_000n],
]);

/** Returns the nanoseconds of a duration such as `1h30m`; undefined if it is none. */
export function influxDurationNs(text: string): bigint | undefined {
  let total = 0n;
  let end = 0;
  for (const match of text.matchAll(/(\d{1,15})([a-zµ]+)/g)) {
    const unit = DURATION_UNITS_NS.get(match[2]);
    if (unit === undefined || match.index !== end) return undefined;
    total += BigInt(match[1]) * unit;
    end += match[0].length;
  }
  // Go has 64 bits for a duration.
  return end === text.length && end > 0 && total < 1n << 63n ? total : undefined;
}

function tokensOf(text: string): Token[] {
  const tokens: Token[] = [];
  let at = 0;
  while (at < text.length) {
    const found = tokenAt(text, at, tokens.at(-1));
    if (found === undefined) {
      const shown = text.slice(at, at + 20);
      throw new AlmanacError('invalid_syntax', `found ${shown}, expected a statement at char ${at + 1}`);
    }
    const { kind, raw, quoted } = found;
    if (kind !== 'space') tokens.push({ kind, value: unescaped(kind, quoted) ?? raw, at });
    at += raw.length;
  }
  tokens.push({ kind: 'end', value: '', at });
  return tokens;
}

/** Words after which a slash begins a regular expression; after other words it divides. */
const BEFORE_PATTERN = new Set(['SELECT', 'FROM', 'BY', 'AND', 'OR', 'ON', 'IN']);

function tokenAt(
  text: string,
  at: number,
  before: Token | undefined,
): { kind: TokenKind | 'space'; raw: string; quoted: string | undefined } | undefined {
  const isDivision = text[at] === '/' && endsOperand(before) && !text.startsWith('/*', at);
  if (isDivision) return { kind: 'symbol', raw: '/', quoted: undefined };
  for (const [kind, expression] of TOKENS) {
    expression.lastIndex = at;
    const match = expression.exec(text);
    if (match !== null) return { kind, raw: match[0], quoted: match[1] };
  }
  return undefined;
}

/** Whether a token can be the left side of a division. */
function endsOperand(token: Token | undefined): boolean {
  if (token === undefined) return false;
  const { kind, value } = token;
  if (kind === 'word') return !BEFORE_PATTERN.has(value.toUpperCase());
  return kind === 'name' || kind === 'number' || (kind === 'symbol' && value === ')');
}

function unescaped(kind: TokenKind, quoted: string | undefined): string | undefined {
  if (kind === 'pattern') return quoted?.replaceAll('\\/', '/');
  return quoted?.replace(ESCAPE, (_all, character: string) => (character === 'n' ? '\n' : character));
}
