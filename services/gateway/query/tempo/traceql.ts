import { AlmanacError } from '#shared/errors/almanac-error';

import { LinearRegex } from '../../logql/linear-regex.js';

/** Property of a span or of its trace that TraceQL names without a scope. */
export type TraceqlIntrinsic =
  | 'name'
  | 'duration'
  | 'status'
  | 'statusMessage'
  | 'kind'
  | 'spanId'
  | 'traceId'
  | 'traceDuration'
  | 'rootName'
  | 'rootServiceName';

/** What a condition is about. */
export type TraceqlField =
  | { readonly kind: 'intrinsic'; readonly name: TraceqlIntrinsic }
  | { readonly kind: 'attribute'; readonly scope: TraceqlScope; readonly key: string };

/** Whose attribute; `any`: the span's, else the resource's. */
export type TraceqlScope = 'span' | 'resource' | 'any';

/** Operators of conditions. */
export type TraceqlOperator = '=' | '!=' | '=~' | '!~' | '>' | '>=' | '<' | '<=';

/** A constant: a text, a number, nanoseconds, a boolean, a word such as `error`, or `nil`. */
export type TraceqlValue =
  | { readonly kind: 'text' | 'word'; readonly value: string }
  | { readonly kind: 'number'; readonly value: number | bigint }
  | { readonly kind: 'duration'; readonly value: number }
  | { readonly kind: 'boolean'; readonly value: boolean }
  | { readonly kind: 'nil' };

/** A condition on spans. */
export type TraceqlCondition =
  | { readonly kind: 'all' | 'any'; readonly parts: readonly TraceqlCondition[] }
  | { readonly kind: 'constant'; readonly value: boolean }
  | {
      readonly kind: 'compare';
      readonly field: TraceqlField;
      readonly operator: TraceqlOperator;
      readonly value: TraceqlValue;
    };

const QUERY_CHARS_MAX = 16 * 1024;
const COMPARISONS_MAX = 200;
const LEVELS_MAX = 100;
const INTRINSICS: Readonly<Record<string, TraceqlIntrinsic>> = {
  ...{ name: 'name', 'span:name': 'name', duration: 'duration', 'span:duration': 'duration' },
  ...{
    status: 'status',
    'span:status': 'status',
    statusMessage: 'statusMessage',
    'span:statusMessage': 'statusMessage',
  },
  ...{ kind: 'kind', 'span:kind': 'kind', 'span:id': 'spanId', 'trace:id': 'traceId' },
  ...{ traceDuration: 'traceDuration', 'trace:duration': 'traceDuration' },
  ...{ rootName: 'rootName', 'trace:rootName': 'rootName' },
  ...{ rootServiceName: 'rootServiceName', 'trace:rootService': 'rootServiceName' },
};
const OPERATORS: readonly TraceqlOperator[] = ['=~', '!~', '!=', '>=', '<=', '=', '>', '<'];
const UNITS_NS: Readonly<Record<string, number>> = {
  ...{ ns: 1, us: 1e3, µs: 1e3, ms: 1e6, s: 1e9, m: 60e9, h: 3_600e9 },
};
const SPACE = /\s*/y;
const NAME = /[^\s=!<>&|(){}",~]+/y;
const QUOTED = /"((?:[^"\\\n]|\\[^\n])*)"|`([^`]*)`/y;
const NUMBER = /-?(?:\d+(?:\.\d+)?)(?:e[-+]?\d+)?/iy;
const DURATION = /-?(?:\d+(?:\.\d+)?(?:ns|us|µs|ms|s|m|h))+/y;

/** Returns the intrinsic with a name; undefined if it is an attribute. */
export function traceqlIntrinsic(name: string): TraceqlIntrinsic | undefined {
  return Object.hasOwn(INTRINSICS, name) ? INTRINSICS[name] : undefined;
}

/** Reads a query with one set of spans, `{ .. }`; an empty one finds all. @throws `invalid_syntax`. */
export function parseTraceql(query: string): TraceqlCondition {
  if (query.length > QUERY_CHARS_MAX) throw invalid(`query is longer than ${QUERY_CHARS_MAX} characters`);
  return query.trim() === '' ? { kind: 'constant', value: true } : new Parser(query).query();
}

/** Reads a field, as in a condition. @throws `invalid_syntax`. */
export function parseTraceqlField(text: string): TraceqlField {
  return new Parser(text).wholeField();
}

class Parser {
  readonly #text: string;
  #at = 0;
  #comparisons = 0;

  constructor(text: string) {
    this.#text = text;
  }

  query(): TraceqlCondition {
    this.#expect('{');
    const condition: TraceqlCondition = this.#sees('}') ? { kind: 'constant', value: true } : this.#any(0);
    this.#expect('}');
    if (!this.#isAtEnd()) throw this.#unexpected('the end: several sets of spans and pipelines are not supported');
    return condition;
  }

  wholeField(): TraceqlField {
    const field = this.#field();
    if (!this.#isAtEnd()) throw this.#unexpected('the end');
    return field;
  }

  #any(level: number): TraceqlCondition {
    const parts = [this.#all(level)];
    while (this.#accept('||')) parts.push(this.#all(level));
    return parts.length === 1 ? parts[0] : { kind: 'any', parts };
  }

  #all(level: number): TraceqlCondition {
    const parts = [this.#one(level)];
    while (this.#accept('&&')) parts.push(this.#one(level));
    return parts.length === 1 ? parts[0] : { kind: 'all', parts };
  }

  #one(level: number): TraceqlCondition {
    if (this.#accept('(')) {
      if (level === LEVELS_MAX) throw invalid(`conditions have more than ${LEVELS_MAX} levels`);
      const inner = this.#any(level + 1);
      this.#expect(')');
      return inner;
    }
    const word = this.#match(NAME, false);
    if (word === 'true' || word === 'false') {
      this.#match(NAME);
      return { kind: 'constant', value: word === 'true' };
    }
    if (++this.#comparisons > COMPARISONS_MAX) throw invalid(`query has more than ${COMPARISONS_MAX} comparisons`);
    const field = this.#field();
    const operator = OPERATORS.find((candidate) => this.#accept(candidate));
    if (operator === undefined) throw this.#unexpected(OPERATORS.join(', '));
    const value = this.#value();
    if (operator.endsWith('~')) {
      if (value.kind !== 'text') throw invalid(`${operator} needs a text in quotes`);
      new LinearRegex(value.value, true);
    }
    return { kind: 'compare', field, operator, value };
  }

  #field(): TraceqlField {
    const name = this.#match(NAME);
    if (name === undefined) throw this.#unexpected('a field');
    const intrinsic = traceqlIntrinsic(name);
    if (intrinsic !== undefined) return { kind: 'intrinsic', name: intrinsic };
    const [, scope, rest] = /^(span|resource)?\.(.*)$/s.exec(name) ?? [];
    if (rest === undefined) {
      throw invalid(`unknown field "${name.slice(0, 100)}": attributes begin with ".", "span." or "resource."`);
    }
    const key = rest === '' ? this.#quoted() : rest;
    if (key === undefined || key === '') throw this.#unexpected('the name of an attribute');
    return { kind: 'attribute', scope: (scope as TraceqlScope | undefined) ?? 'any', key };
  }

  #value(): TraceqlValue {
    this.#match(SPACE);
    const text = this.#quoted();
    if (text !== undefined) return { kind: 'text', value: text };
    const duration = this.#match(DURATION);
    if (duration !== undefined) return { kind: 'duration', value: finite(durationNs(duration), duration) };
    const number = this.#match(NUMBER);
    if (number !== undefined) return { kind: 'number', value: exactNumber(number) };
    const word = this.#match(NAME);
    if (word === undefined) throw this.#unexpected('a value');
    if (word === 'nil') return { kind: 'nil' };
    return word === 'true' || word === 'false'
      ? { kind: 'boolean', value: word === 'true' }
      : { kind: 'word', value: word };
  }

  #quoted(): string | undefined {
    QUOTED.lastIndex = this.#at;
    const match = QUOTED.exec(this.#text);
    if (match === null) return undefined;
    this.#at += match[0].length;
    const [, escaped, raw] = match as (string | undefined)[];
    return raw ?? escaped?.replaceAll(/\\(.)/gs, (_all, character: string) => ESCAPES[character] ?? character);
  }

  #match(expression: RegExp, takes = true): string | undefined {
    SPACE.lastIndex = this.#at;
    const start = this.#at + (SPACE.exec(this.#text)?.[0].length ?? 0);
    expression.lastIndex = start;
    const found = expression.exec(this.#text)?.[0];
    if (takes && found !== undefined) this.#at = start + found.length;
    return found;
  }

  #sees(token: string): boolean {
    this.#match(SPACE);
    return this.#text.startsWith(token, this.#at);
  }

  #accept(token: string): boolean {
    if (!this.#sees(token)) return false;
    this.#at += token.length;
    return true;
  }

  #expect(token: string): void {
    if (!this.#accept(token)) throw this.#unexpected(`"${token}"`);
  }

  #isAtEnd(): boolean {
    this.#match(SPACE);
    return this.#at === this.#text.length;
  }

  #unexpected(expected: string): AlmanacError {
    const found = this.#isAtEnd() ? 'the end' : `"${this.#text.slice(this.#at, this.#at + 20)}"`;
    return invalid(`parse error at line 1, col ${this.#at + 1}: found ${found}, expected ${expected}`);
  }
}

const ESCAPES: Readonly<Partial<Record<string, string>>> = { n: '\n', t: '\t', r: '\r' };

/** Returns a number; integers that a double cannot hold keep all their digits. */
function exactNumber(text: string): number | bigint {
  return /^-?\d{16,20}$/.test(text) ? BigInt(text) : finite(Number(text), text);
}

function finite(value: number, text: string): number {
  if (Number.isFinite(value)) return value;
  throw invalid(`number ${text.slice(0, 100)} is out of range`);
}

function durationNs(text: string): number {
  let ns = 0;
  for (const [, value, unit] of text.matchAll(/([\d.]+)(ns|us|µs|ms|s|m|h)/g)) ns += Number(value) * UNITS_NS[unit];
  return Math.round(text.startsWith('-') ? -ns : ns);
}

function invalid(text: string): AlmanacError {
  return new AlmanacError('invalid_syntax', `invalid TraceQL query: ${text}`);
}
