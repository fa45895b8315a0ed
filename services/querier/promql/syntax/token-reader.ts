import type { Span } from './ast.js';
import type { LexedQuery, PromToken } from './lex.js';
import { parseError } from './parse-error.js';

/** Walks over the tokens of a query; knows how Prometheus words that one of them is wrong. */
export class TokenReader {
  readonly query: string;
  readonly #tokens: readonly PromToken[];
  readonly #lexError: Error | undefined;
  #index = 0;
  /** What is being read, for errors of tokens that fit nowhere; the innermost last. */
  readonly #contexts: string[] = [];

  constructor(query: string, { tokens, error }: LexedQuery) {
    this.query = query;
    this.#tokens = tokens;
    this.#lexError = error;
  }

  /** @throws `invalid_syntax` where the text could not be cut any further. */
  get next(): PromToken {
    const token = this.#tokens[this.#index];
    if (this.#lexError !== undefined && token.kind === 'end') throw this.#lexError;
    return token;
  }

  /** Where the token before ends. */
  get previousEnd(): number {
    return this.#index === 0 ? 0 : this.#tokens[this.#index - 1].end;
  }

  /** The token so many places behind the next one, or the end. */
  peek(count: number): PromToken {
    return this.#tokens[Math.min(this.#index + count, this.#tokens.length - 1)];
  }

  take(): PromToken {
    const token = this.next;
    if (token.kind !== 'end') this.#index++;
    return token;
  }

  /** Takes the next token if it is this word or sign. */
  accept(text: string): boolean {
    const { kind } = this.next;
    if (this.next.text !== text || kind === 'string' || kind === 'identifier' || kind === 'end') return false;
    this.#index++;
    return true;
  }

  /** Takes a word or sign that has to be there. */
  expect(text: string, context?: string): PromToken {
    const token = this.next;
    if (!this.accept(text)) throw this.unexpected(context);
    return token;
  }

  /** Reads a part; a token that fits nowhere in it is an error in this context. */
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

  /** @param at the place that the error names; the next token if not given. */
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
