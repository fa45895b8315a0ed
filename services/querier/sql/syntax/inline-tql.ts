import { Cursor } from './cursor.js';
import { Kind, lexSql } from './lex.js';
import type { QueryText } from './query-text.js';
import { invalidTql, parseTql, type TqlText } from './tql-text.js';

/** A SQL query whose TQL parts are replaced by tables. */
export interface InlinedQuery {
  /** The query with `(SELECT * FROM name)` in place of each part. */
  readonly query: QueryText;
  readonly parts: readonly { readonly name: string; readonly text: TqlText }[];
}

/** Prefix of the tables of TQL parts; a number follows. */
const PREFIX = '__tql_';
/** Longer numbers exceed those of all names that fit in one text. */
const NAMES = new RegExp(`${PREFIX}(\\d{1,9})(?!\\d)`, 'gi');

/** Replaces `TQL EVAL` in parentheses in a query. @throws `invalid_syntax`. */
export function inlineTql(query: QueryText): InlinedQuery {
  const { tokens, from, to } = query;
  const parts: InlinedQuery['parts'][number][] = [];
  let names: Generator<string, never> | undefined;
  let sql = '';
  let copied = tokens.start(from);
  for (let i = from; i < to; i++) {
    if (tokens.kind(i) !== Kind.promql) continue;
    const begin = firstToken(query, i);
    const text = parseTql(new Cursor(tokens, begin, i + 1));
    if (text.verb !== 'eval') throw invalidTql('Only TQL EVAL is supported in CTEs');
    const name = (names ??= freeNames(tokens.source)).next().value;
    parts.push({ name, text });
    sql += `${tokens.source.slice(copied, tokens.start(begin))}SELECT * FROM ${name}`;
    copied = tokens.end(i);
  }
  if (parts.length === 0) return { query, parts };
  sql += tokens.source.slice(copied, tokens.end(to - 1));
  const inlined = lexSql(sql);
  return { query: { tokens: inlined, from: 0, to: inlined.count }, parts };
}

/** Yields names that do not occur in the text. */
function* freeNames(source: string): Generator<string, never> {
  const taken = new Set(Array.from(source.matchAll(NAMES), ([, number]) => Number(number)));
  for (let number = 0; ; number++) if (!taken.has(number)) yield `${PREFIX}${number}`;
}

/** Returns where the statement with the query token `i` begins: after an opening parenthesis that is not closed before it. */
function firstToken({ tokens, from }: QueryText, i: number): number {
  let depth = 0;
  for (let at = i - 1; at >= from; at--) {
    if (tokens.isSymbol(at, ')')) depth++;
    if (tokens.isSymbol(at, '(') && --depth < 0) return at + 1;
  }
  return from;
}
