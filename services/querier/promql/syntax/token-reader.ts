import type { Span } from './ast.js';
import type { LexedQuery, PromToken } from './lex.js';
import { parseError } from './parse-error.js';

/** A cursor over the tokens of a query. Its errors have the texts of Prometheus. */
export class TokenReader {
  readonly query: string;
  readonly #tokens: readonly PromToken[];
  readonly #lexError: Error | undefined;
  #index = 0;
  /** Constructs being parsed, for errors of unexpected tokens; the innermost last. */
  readonly #contexts: string[] = [];

  constructor(query: string, { tokens, error }: LexedQuery) {
    this.query = query;
    this.#tokens = tokens;
    this.#lexError = error;
  }

  /** @throws `invalid_syntax` at the position where tokenizing failed. */
  get next(): PromToken {
    const token = this.#tokens[this.#index];
    if (this.#lexError !== undefined && token.kind === 'end') throw this.#lexError;
    return token;
  }

  /** End of the previous token. */
  get previousEnd(): number {
    return this.#index === 0 ? 0 : this.#tokens[this.#index - 1].end;
  }

  /** Returns the token `count` positions after the next one, or the end. */
  peek(count: number): PromToken {
    return this.#tokens[Math.min(this.#index + count, this.#tokens.length - 1)];
  }

  take(): PromToken {
    const token = this.next;
    if (token.kind !== 'end') this.#index++;
    return token;
  }

  /** Consumes the next token if it is this word or symbol. */
  accept(text: string): boolean {
    const { kind } = this.next;
    if (this.next.text !== text || kind === 'string' || kind === 'identifier' || kind === 'end') return false;
    this.#index++;
    return true;
  }

  /** Consumes a required word or symbol. */
  expect(text: string, context?: string): PromToken {
    const token = this.next;
    if (!this.accept(text)) throw this.unexpected(context);
    return token;
  }

  /** Parses a construct; the error of an unexpected token in it names this context. */
  within<T>(context: string, read: () => T): T {
    this.#contexts.push(context);
    const result = read();
    this.#contexts.pop();
    return result;
  }

  unexpected(context = this.#contexts.at(-1) ?? '', expected = ''): Error {
    const where = context === '' ? '' : ` in ${context}`;
    const what = expected === '' ? '' : `, expected ${expected}`;
    return this.error(`unexpected ${describe(this.next, this.query)}${where}${what}`);
  }

  /** @param at position of the error, by default the next token. */
  error(text: string, at: Span = this.next): Error {
    return parseError(this.query, at.start, text);
  }
}

const TEXT_MAX = 10;

function describe({ kind, text, start, end }: PromToken, query: string): string {
  const written = query.slice(start, end);
  const shown = JSON.stringify(written);
  const characters = Array.from(written);
  const isLong = characters.length > TEXT_MAX;
  const short = isLong ? `${JSON.stringify(characters.slice(0, TEXT_MAX).join(''))}...` : shown;
  switch (kind) {
    case 'end':
      return 'end of input';
    case 'identifier':
      return text.includes(':') ? `metric identifier ${shown}` : `identifier ${shown}`;
    case 'keyword':
      return `<${written}>`;
    case 'aggregator':
      return `<aggr:${written}>`;
    case 'operator':
      return `<op:${written}>`;
    case 'punctuation':
      return shown;
    case 'string':
    case 'number':
    case 'duration':
      return `${kind} ${short}`;
  }
}
