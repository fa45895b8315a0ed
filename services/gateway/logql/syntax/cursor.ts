import type { AlmanacError } from '#shared/errors/almanac-error';

import { logqlError } from './error.js';
import { lexLogql, type LogqlToken, type LogqlTokenKind } from './lex.js';

/** Parentheses and functions within each other. */
const DEPTH_MAX = 100;

/** Reads the tokens of a query in order. */
export class TokenCursor {
  readonly #query: string;
  readonly #tokens: readonly LogqlToken[];
  #index = 0;
  #depth = 0;

  /** @throws `invalid_syntax`. */
  constructor(query: string) {
    this.#query = query;
    this.#tokens = lexLogql(query);
  }

  get token(): LogqlToken {
    return this.#tokens[this.#index];
  }

  get next(): LogqlToken {
    return this.#tokens[Math.min(this.#index + 1, this.#tokens.length - 1)];
  }

  /** Returns the token and moves to the next one. */
  take(): LogqlToken {
    const { token } = this;
    if (token.kind !== 'end') this.#index++;
    return token;
  }

  /** Whether the token is this operator or word. */
  isAt(value: string, kind: LogqlTokenKind = 'operator'): boolean {
    return this.token.kind === kind && this.token.value === value;
  }

  /** Takes the token if it is this operator or word. */
  accept(value: string, kind: LogqlTokenKind = 'operator'): boolean {
    if (!this.isAt(value, kind)) return false;
    this.take();
    return true;
  }

  /** @throws `invalid_syntax` if the token is another one. */
  expect(value: string): void {
    if (!this.accept(value)) throw this.unexpected(value);
  }

  /** @throws `invalid_syntax` if the token is of another kind. */
  expectKind(kind: LogqlTokenKind, shown: string): string {
    if (this.token.kind !== kind) throw this.unexpected(shown);
    return this.take().value;
  }

  /** Parses something that can contain itself. @throws `invalid_syntax` if that is nested too deeply. */
  nested<T>(parse: () => T): T {
    if (++this.#depth > DEPTH_MAX) throw this.error(`the query is nested more than ${DEPTH_MAX} levels`);
    const result = parse();
    this.#depth--;
    return result;
  }

  unexpected(expected?: string): AlmanacError {
    const { kind, value } = this.token;
    const names: Readonly<Partial<Record<LogqlTokenKind, string>>> = {
      name: 'IDENTIFIER',
      text: 'STRING',
      number: 'NUMBER',
      duration: 'DURATION',
      bytes: 'BYTES',
    };
    const shown = names[kind] ?? value;
    return this.error(`syntax error: unexpected ${shown}${expected === undefined ? '' : `, expecting ${expected}`}`);
  }

  error(message: string): AlmanacError {
    return logqlError(this.#query, this.token.at, message);
  }
}
