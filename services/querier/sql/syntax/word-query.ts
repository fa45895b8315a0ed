import { AlmanacError } from '#shared/errors/almanac-error';
import type { TextQuery } from '#shared/term-index/text-query';

const WORDS_MAX = 256;
const DEPTH_MAX = 32;

/** A word, or a group of them, with the sign before it. */
interface SignedPart {
  readonly sign: '+' | '-' | '';
  readonly query: TextQuery;
}

/**
 * Parses the query of `matches` (spec: sql, full text): words are alternatives; `+word` must occur, `-word` must not; AND, OR,
 * parentheses and `"phrases"`.
 *
 * @throws `invalid_arguments` naming the place of a mistake.
 */
export function queryOfWords(text: string): TextQuery {
  const parser = new WordParser(text);
  const query = parser.alternatives(0);
  parser.expectEnd();
  return query;
}

class WordParser {
  readonly #text: string;
  #at = 0;
  #words = 0;

  constructor(text: string) {
    this.#text = text;
  }

  /** Parses parts separated by spaces or OR, up to a closing parenthesis or the end. */
  alternatives(depth: number): TextQuery {
    if (depth > DEPTH_MAX) throw this.#fault(`more than ${DEPTH_MAX} parentheses are nested`);
    const parts: SignedPart[] = [];
    for (;;) {
      this.#skipSpace();
      if (this.#isEnd() || this.#text[this.#at] === ')') break;
      if (parts.length > 0) this.#accept('OR');
      parts.push(this.#conjunction(depth));
    }
    if (parts.length === 0) throw this.#fault('a word is expected');
    return combined(parts);
  }

  expectEnd(): void {
    if (!this.#isEnd()) throw this.#fault('unmatched )');
  }

  #conjunction(depth: number): SignedPart {
    const first = this.#signed(depth);
    const parts = [first];
    while (this.#accept('AND')) parts.push(this.#signed(depth));
    if (parts.length === 1) return first;
    return { sign: '', query: { kind: 'all', parts: parts.map(plain) } };
  }

  #signed(depth: number): SignedPart {
    this.#skipSpace();
    const sign = this.#text[this.#at];
    if (sign !== '+' && sign !== '-') return { sign: '', query: this.#operand(depth) };
    const next = this.#text[++this.#at] as string | undefined;
    if (next === undefined || /\s/.test(next)) throw this.#fault(`${sign} must be followed by a word`);
    if (next === '+' || next === '-') throw this.#fault(`${sign}${next} are two signs for one word`);
    return { sign, query: this.#operand(depth) };
  }

  #operand(depth: number): TextQuery {
    this.#skipSpace();
    if (this.#isEnd()) throw this.#fault('a word is expected');
    if (++this.#words > WORDS_MAX) throw this.#fault(`more than ${WORDS_MAX} words`);
    switch (this.#text[this.#at]) {
      case '(': {
        this.#at++;
        const inner = this.alternatives(depth + 1);
        if (this.#text[this.#at] !== ')') throw this.#fault('unmatched (');
        this.#at++;
        return inner;
      }
      case ')':
        throw this.#fault('a word is expected');
      case '"':
        return word(this.#phrase());
      default:
        return word(this.#word());
    }
  }

  #phrase(): string {
    let phrase = '';
    for (this.#at++; !this.#isEnd(); this.#at++) {
      const character = this.#text[this.#at];
      if (character === '"') {
        this.#at++;
        return phrase;
      }
      if (character === '\\' && this.#at + 1 < this.#text.length) this.#at++;
      phrase += this.#text[this.#at];
    }
    throw this.#fault('unmatched "');
  }

  #word(): string {
    const found = /^(?:\\.|[^\s()"\\])+/s.exec(this.#text.slice(this.#at))?.[0] ?? this.#text[this.#at];
    this.#at += found.length;
    return found.replaceAll(/\\(.)/gs, '$1');
  }

  #accept(keyword: string): boolean {
    this.#skipSpace();
    const rest = this.#text.slice(this.#at, this.#at + keyword.length + 1);
    if (!rest.startsWith(keyword) || /^[^\s("]$/.test(rest.slice(keyword.length))) return false;
    this.#at += keyword.length;
    this.#skipSpace();
    if (this.#isEnd() || this.#text[this.#at] === ')') throw this.#fault(`${keyword} must be followed by a word`);
    return true;
  }

  #skipSpace(): void {
    while (!this.#isEnd() && /\s/.test(this.#text[this.#at])) this.#at++;
  }

  #isEnd(): boolean {
    return this.#at >= this.#text.length;
  }

  #fault(text: string): AlmanacError {
    return new AlmanacError('invalid_arguments', `invalid query of matches at character ${this.#at + 1}: ${text}`);
  }
}

function word(text: string): TextQuery {
  return { kind: 'needle', text, isTerm: false, folds: false };
}

function plain({ sign, query }: SignedPart): TextQuery {
  return sign === '-' ? { kind: 'not', part: query } : query;
}

/** With a part that must occur, the others are optional. */
function combined(parts: readonly SignedPart[]): TextQuery {
  const required = parts.filter(({ sign }) => sign === '+').map(({ query }) => query);
  const excluded = parts.filter(({ sign }) => sign === '-').map(plain);
  const optional = parts.filter(({ sign }) => sign === '').map(({ query }) => query);
  const wanted = required.length > 0 ? required : optional.length > 1 ? [anyOf(optional)] : optional;
  const all = [...wanted, ...excluded];
  return all.length === 1 ? all[0] : { kind: 'all', parts: all };
}

function anyOf(parts: readonly TextQuery[]): TextQuery {
  return { kind: 'any', parts };
}
