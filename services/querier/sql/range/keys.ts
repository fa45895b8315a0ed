import { quoteName } from '#shared/duckdb/quote';

import type { Tokens } from '../syntax/lex.js';
import type { QueryText } from '../syntax/query-text.js';
import type { RangeInput } from './input.js';
import type { ItemPart, RangeCall } from './items.js';
import { columnPath, invalidRange, isLiteral, isName, keyOf, spanText } from './spans.js';

/** A BY expression, and the name of the column that holds its value. */
export interface RangeKey {
  /** As written; undefined for a column of the primary key. */
  readonly span: QueryText | undefined;
  readonly sql: string;
  readonly name: string;
}

/** Returns the BY expressions, by default the primary key. @throws `invalid_syntax` if there is no single table. */
export function seriesKeysOf(by: readonly QueryText[] | undefined, input: RangeInput): RangeKey[] {
  if (by === undefined) {
    if (input.primaryKey === undefined) {
      throw invalidRange('Range Query: Cannot infer default BY columns from derived range query input, add BY (..)');
    }
    return input.primaryKey.map((name) => {
      const sql = `${quoteName(input.alias)}.${quoteName(name)}`;
      return { span: undefined, sql, name };
    });
  }
  // All rows have the same value of a literal.
  const spans = by.filter((span) => span.to - span.from > 1 || !isLiteral(span.tokens, span.from));
  const names = new Set<string>();
  return spans.map((span, i) => {
    let name = columnPath(span)?.at(-1) ?? `__key${i}`;
    if (names.has(name) || name === input.timeIndex.name) name = `__key${i}`;
    names.add(name);
    return { span, sql: spanText(span), name };
  });
}

/** Prints parts of the outer query: range expressions and BY expressions are columns there. */
export class OuterSql {
  readonly #tokens: Tokens;
  readonly #keys: readonly (RangeKey & { readonly text: string; readonly length: number })[];

  constructor(tokens: Tokens, keys: readonly RangeKey[]) {
    this.#tokens = tokens;
    this.#keys = keys
      .map((key) => ({
        ...key,
        text: key.span === undefined ? '' : keyOf(key.span),
        length: key.span === undefined ? 0 : key.span.to - key.span.from,
      }))
      .filter(({ length }) => length > 0)
      // The longest one is the expression that contains the others.
      .sort((a, b) => b.length - a.length);
  }

  /**
   * @param onToken called with each token that remains.
   */
  print(parts: readonly ItemPart[], columnOf: (call: RangeCall) => string, onToken: (i: number) => void): string {
    const printed: string[] = [];
    for (let at = 0; at < parts.length; at++) {
      const part = parts[at];
      if (part.kind === 'call') {
        printed.push(quoteName(columnOf(part.call)));
        continue;
      }
      const key = this.#keyAt(part.i, parts, at);
      if (key === undefined) {
        onToken(part.i);
        printed.push(this.#tokens.raw(part.i));
        continue;
      }
      printed.push(quoteName(key.name));
      at += key.length - 1;
    }
    return printed.join(' ');
  }

  #keyAt(i: number, parts: readonly ItemPart[], at: number): { name: string; length: number } | undefined {
    const tokens = this.#tokens;
    if (tokens.isSymbol(i - 1, '.')) return undefined;
    return this.#keys.find(({ text, length }) => {
      const last = at + length - 1 < parts.length ? parts[at + length - 1] : undefined;
      if (last?.kind !== 'token' || last.i !== i + length - 1) return false;
      // `host` is not the key where it qualifies a column or calls a function.
      const isPrefix = isName(tokens, last.i) && (tokens.isSymbol(last.i + 1, '.') || tokens.isSymbol(last.i + 1, '('));
      return !isPrefix && keyOf({ tokens, from: i, to: i + length }) === text;
    });
  }
}
