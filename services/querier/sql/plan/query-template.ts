import { Kind, type Tokens } from '../syntax/lex.js';
import { countOf, isInteger, sizedInteger, type Literal } from '../syntax/literals.js';
import type { QueryText } from '../syntax/query-text.js';
import type { LiftedQuery } from './lift-literals.js';

/** The text of a request with gaps for the literals of its only query. Texts that differ only there have one plan. */
export interface QueryTemplate {
  /** Before, between and after the gaps. */
  readonly fixed: readonly string[];
  readonly gaps: readonly Gap[];
  /** Characters before and after the query. */
  readonly leading: number;
  readonly trailing: number;
}

interface Gap {
  readonly kind: Literal['kind'];
  /** Sign of the literal, which is in the text before. */
  readonly sign: '-' | '';
  /** Whether it is that of a LIMIT or OFFSET. */
  readonly isCount: boolean;
}

/** Longer texts are parsed. */
const CHARS_MAX = 4_096;
const LITERALS_MAX = 100;
/** What continues a word, a number or a text. */
const PART = /[\w.$'\u0080-\uffff]/;

/**
 * Returns the template of a query whose items have no literals in gaps, because these name columns of the result; undefined
 * if a text with other literals might have other tokens.
 */
export function templateOf({ tokens, from, to }: QueryText, lifted: LiftedQuery): QueryTemplate | undefined {
  const { source } = tokens;
  const { literals, literalTokens } = lifted;
  // A text with several statements, of which this is one, or a query that does not begin with its items.
  if (from > 0 || to < tokens.count - 1 || !tokens.isWord(0, 'SELECT')) return undefined;
  if (source.length > CHARS_MAX || literals.length > LITERALS_MAX) return undefined;
  const items = itemsEnd(tokens, to);
  const fixed: string[] = [];
  const gaps: Gap[] = [];
  let at = 0;
  for (const [i, token] of literalTokens.entries()) {
    if (token < items) return undefined;
    const [start, end] = [tokens.start(token), tokens.end(token)];
    if (start < at || !isPlain(tokens, token)) return undefined;
    fixed.push(source.slice(at, start));
    const { kind, value } = literals[i];
    const isCount = tokens.isWord(token - 1, 'LIMIT') || tokens.isWord(token - 1, 'OFFSET');
    gaps.push({ kind, sign: kind !== 'text' && value.startsWith('-') ? '-' : '', isCount });
    at = end;
  }
  fixed.push(source.slice(at));
  return { fixed, gaps, leading: tokens.start(0), trailing: source.length - tokens.end(to - 1) };
}

/** Reports whether a literal ends where its digits or its quotes do, whatever its value is. */
function isPlain(tokens: Tokens, token: number): boolean {
  const { source } = tokens;
  const [start, end] = [tokens.start(token), tokens.end(token)];
  if (tokens.kind(token) !== Kind.text && !/^\d+(?:\.\d+)?$/.test(source.slice(start, end))) return false;
  return ![source.slice(start - 1, start), source.slice(end, end + 1)].some((char) => PART.test(char));
}

/** Most templates that a text is compared with. */
const TEMPLATES_MAX = 64;

/** The template of a text, and what belongs to it. */
export interface FoundTemplate<V> {
  readonly template: QueryTemplate;
  readonly value: V;
  readonly literals: readonly Literal[];
}

/** The templates of queries, those that were found last first. */
export class QueryTemplates<V> {
  readonly #entries: { readonly template: QueryTemplate; readonly value: V }[] = [];

  /** @returns what belongs to the template that had to make room. */
  add(template: QueryTemplate, value: V): V | undefined {
    this.#entries.unshift({ template, value });
    return this.#entries.length > TEMPLATES_MAX ? this.#entries.pop()?.value : undefined;
  }

  /** Returns what belongs to the template of a text, and its literals. @param isValid is called for templates that may be it */
  find(text: string, isValid: (value: V) => boolean): FoundTemplate<V> | undefined {
    if (text.length > CHARS_MAX) return undefined;
    for (let i = 0; i < this.#entries.length; i++) {
      const entry = this.#entries[i];
      const literals = isValid(entry.value) ? literalsIn(text, entry.template) : undefined;
      if (literals === undefined) continue;
      if (i > 0) {
        this.#entries.splice(i, 1);
        this.#entries.unshift(entry);
      }
      return { template: entry.template, value: entry.value, literals };
    }
    return undefined;
  }
}

/** Returns the index of the first FROM outside of brackets, before which the items are. */
function itemsEnd(tokens: Tokens, to: number): number {
  let depth = 0;
  for (let i = 0; i < to; i++) {
    if (tokens.isSymbol(i, '(')) depth++;
    else if (tokens.isSymbol(i, ')')) depth--;
    else if (depth === 0 && tokens.isWord(i, 'FROM')) return i;
  }
  return to;
}

/** Returns the literals of a text; undefined if it does not have the template. */
export function literalsIn(text: string, { fixed, gaps }: QueryTemplate): Literal[] | undefined {
  if (!text.startsWith(fixed[0])) return undefined;
  let at = fixed[0].length;
  const literals: Literal[] = [];
  for (let i = 0; i < gaps.length; i++) {
    const { kind, sign, isCount } = gaps[i];
    const end = kind === 'text' ? textEnd(text, at) : numberEnd(text, at, kind === 'decimal');
    const next = fixed[i + 1];
    // What is fixed does not begin with a character that would continue the literal: `isPlain`.
    if (end === -1 || !text.startsWith(next, end)) return undefined;
    const value = kind === 'text' ? text.slice(at + 1, end - 1) : sign + text.slice(at, end);
    const literal = isInteger(kind) ? sizedInteger(value) : { kind, value };
    if (literal.kind !== kind || (isCount && countOf(literal) !== literal)) return undefined;
    literals.push(literal);
    at = end + next.length;
  }
  return at === text.length ? literals : undefined;
}

/** Returns the end of a text without quotes in it that begins at an offset; -1 if there is none. */
function textEnd(text: string, start: number): number {
  if (text.charCodeAt(start) !== QUOTE) return -1;
  const end = text.indexOf("'", start + 1);
  return end === -1 || text.charCodeAt(end + 1) === QUOTE ? -1 : end + 1;
}

const QUOTE = 39;
const DOT = 46;

/** Returns the end of a number of decimal digits that begins at an offset; -1 if there is none. */
function numberEnd(text: string, start: number, isDecimal: boolean): number {
  const end = digitsEnd(text, start);
  if (end === start) return -1;
  if (!isDecimal) return end;
  const fractionEnd = text.charCodeAt(end) === DOT ? digitsEnd(text, end + 1) : end;
  return fractionEnd > end + 1 ? fractionEnd : -1;
}

function digitsEnd(text: string, start: number): number {
  let at = start;
  for (let code = text.charCodeAt(at); code >= 48 && code <= 57; code = text.charCodeAt(at)) at++;
  return at;
}
