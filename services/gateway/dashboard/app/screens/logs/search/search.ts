/** How a field is compared. `~` finds a regular expression anywhere in the value. */
export type SearchOperator = '=' | '!=' | '~' | '!~' | '>' | '>=' | '<' | '<=';

/** A condition on one field. */
export interface FieldCondition {
  readonly kind: 'field';
  readonly name: string;
  readonly operator: SearchOperator;
  readonly value: string;
  /** Where it is in the search line, in UTF-16 units. */
  readonly at: number;
}

/** A search line as a tree. */
export type SearchNode =
  /** A word or a phrase of the line, whatever its letter case. */
  | { readonly kind: 'words'; readonly text: string }
  | FieldCondition
  | { readonly kind: 'not'; readonly of: SearchNode }
  | { readonly kind: 'and' | 'or'; readonly of: readonly SearchNode[] };

/** A search line that cannot be read. */
export class SearchError extends Error {
  override readonly name = 'SearchError';
  /** Where the fault is, in UTF-16 units from the start. */
  readonly at: number;

  constructor(message: string, at: number) {
    super(message);
    this.at = at;
  }
}

const LENGTH_MAX = 10_000;
const TERMS_MAX = 200;
const DEPTH_MAX = 50;

const SPACE = /\s*/y;
const NAME = /[\p{L}_@$](?:[\p{L}\p{N}_.@$/-]*[\p{L}\p{N}_])?/uy;
const OPERATOR = /=~|!~|!=|>=|<=|=|~|>|</y;
const QUOTED = /"((?:[^"\\]|\\[^])*)"/y;
const KEYWORD = /(AND|OR|NOT)(?=[\s()]|$)/y;
const WORD = /[^\s()]+/y;

/**
 * Reads a search line: words, `"phrases"`, `field=value` with the operators `= != ~ !~ > >= < <=`, `-` or `NOT` before what
 * must not be found, `OR`, and parentheses. Terms side by side must all be found; AND binds closer than OR.
 *
 * @returns undefined for an empty line. @throws SearchError.
 */
export function parseSearch(text: string): SearchNode | undefined {
  if (text.length > LENGTH_MAX) throw new SearchError(`a search has at most ${LENGTH_MAX} characters`, LENGTH_MAX);
  return new Parser(text).all();
}

/** How a click chooses lines. */
type ChoiceOperator = '=' | '!=' | '~' | '!~';

const OPPOSITES: Readonly<Record<ChoiceOperator, ChoiceOperator>> = { '=': '!=', '!=': '=', '~': '!~', '!~': '~' };

/** Adds a condition on a field to a search line; an equal one stays, and the opposite one is removed. */
export function withCondition(text: string, name: string, operator: ChoiceOperator, value: string): string {
  const added = conditionText(name, operator, value);
  const opposite = conditionText(name, OPPOSITES[operator], value);
  const terms = ` ${text.trim()} `.replace(` ${opposite} `, ' ').trim();
  if (` ${terms} `.includes(` ${added} `)) return terms;
  if (terms === '') return added;
  return isAlternative(terms) ? `(${terms}) ${added}` : `${terms} ${added}`;
}

function isAlternative(text: string): boolean {
  try {
    return parseSearch(text)?.kind === 'or';
  } catch {
    return false;
  }
}

function conditionText(name: string, operator: string, value: string): string {
  NAME.lastIndex = 0;
  const isPlainName = NAME.exec(name)?.[0] === name;
  return `${isPlainName ? name : quoted(name)}${operator}${/^[^\s()"\\]+$/.test(value) ? value : quoted(value)}`;
}

/** Returns a text in quotes, as a search line reads it back. */
export function quoted(text: string): string {
  const escaped = text.replaceAll('\\', '\\\\').replaceAll('"', '\\"').replaceAll('\n', '\\n').replaceAll('\t', '\\t');
  return `"${escaped.replaceAll('\r', '\\r')}"`;
}

class Parser {
  readonly #text: string;
  #at = 0;
  #termCount = 0;
  #depth = 0;

  constructor(text: string) {
    this.#text = text;
  }

  all(): SearchNode | undefined {
    this.#take(SPACE);
    if (this.#at === this.#text.length) return undefined;
    const node = this.#alternatives();
    if (this.#at < this.#text.length) throw new SearchError('this ")" has no "(" before it', this.#at);
    return node;
  }

  #alternatives(): SearchNode {
    const of = [this.#conjunction()];
    while (this.#takeKeyword('OR')) of.push(this.#conjunction());
    return of.length === 1 ? of[0] : { kind: 'or', of };
  }

  #conjunction(): SearchNode {
    const of = [this.#unary()];
    for (;;) {
      const isJoined = this.#takeKeyword('AND');
      const next = this.#text[this.#at];
      if (!isJoined && (next === undefined || next === ')' || this.#peekKeyword('OR'))) break;
      of.push(this.#unary());
    }
    return of.length === 1 ? of[0] : { kind: 'and', of };
  }

  #unary(): SearchNode {
    this.#take(SPACE);
    const start = this.#at;
    if (++this.#depth > DEPTH_MAX) throw new SearchError(`a search is nested at most ${DEPTH_MAX} deep`, start);
    const node = this.#negated() ?? this.#group() ?? this.#term(start);
    this.#depth--;
    this.#take(SPACE);
    return node;
  }

  #negated(): SearchNode | undefined {
    if (this.#takeKeyword('NOT')) return { kind: 'not', of: this.#unary() };
    const next = this.#text[this.#at + 1];
    if (this.#text[this.#at] !== '-' || next === undefined || /[\s)]/.test(next)) return undefined;
    this.#at++;
    return { kind: 'not', of: this.#unary() };
  }

  #group(): SearchNode | undefined {
    const start = this.#at;
    if (this.#text[start] !== '(') return undefined;
    this.#at++;
    const node = this.#alternatives();
    if (this.#text[this.#at] !== ')') throw new SearchError('this "(" has no ")"', start);
    this.#at++;
    return node;
  }

  #term(start: number): SearchNode {
    if (++this.#termCount > TERMS_MAX) throw new SearchError(`a search has at most ${TERMS_MAX} terms`, start);
    if (this.#text[start] === '"') {
      const text = this.#quoted();
      return this.#condition(text, start) ?? { kind: 'words', text };
    }
    const name = this.#take(NAME)?.[0];
    const condition = name === undefined ? undefined : this.#condition(name, start);
    if (condition !== undefined) return condition;
    this.#at = start;
    const keyword = this.#take(KEYWORD)?.[1];
    if (keyword !== undefined) {
      throw new SearchError(
        `${keyword} needs a term on both sides: write "${keyword.toLowerCase()}" for the word`,
        start,
      );
    }
    const word = this.#take(WORD)?.[0];
    if (word === undefined) throw new SearchError('a term is missing', start);
    return { kind: 'words', text: word };
  }

  #condition(name: string, at: number): FieldCondition | undefined {
    const operator = this.#take(OPERATOR)?.[0];
    if (operator === undefined) return undefined;
    const value = this.#text[this.#at] === '"' ? this.#quoted() : this.#bareValue();
    return { kind: 'field', name, operator: operator === '=~' ? '~' : (operator as SearchOperator), value, at };
  }

  #quoted(): string {
    const start = this.#at;
    const match = this.#take(QUOTED);
    if (match === null) throw new SearchError('this quote has no closing one', start);
    // Other backslashes are those of regular expressions.
    return match[1].replace(/\\(["\\nrt])/g, (_, escaped: string) => ESCAPES[escaped] ?? escaped);
  }

  /** Reads up to a space, or a parenthesis that closes more than the value has opened. */
  #bareValue(): string {
    const start = this.#at;
    let open = 0;
    while (this.#at < this.#text.length) {
      const unit = this.#text[this.#at];
      if (/\s/.test(unit)) break;
      if (unit === '(') open++;
      else if (unit === ')' && --open < 0) break;
      this.#at++;
    }
    return this.#text.slice(start, this.#at);
  }

  #takeKeyword(keyword: string): boolean {
    if (!this.#peekKeyword(keyword)) return false;
    this.#at += keyword.length;
    this.#take(SPACE);
    return true;
  }

  #peekKeyword(keyword: string): boolean {
    KEYWORD.lastIndex = this.#at;
    return KEYWORD.exec(this.#text)?.[1] === keyword;
  }

  #take(pattern: RegExp): RegExpExecArray | null {
    pattern.lastIndex = this.#at;
    const match = pattern.exec(this.#text);
    if (match !== null) this.#at = pattern.lastIndex;
    return match;
  }
}

const ESCAPES: Readonly<Record<string, string>> = { n: '\n', r: '\r', t: '\t' };
