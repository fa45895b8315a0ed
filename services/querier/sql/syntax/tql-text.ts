import { AlmanacError } from '#shared/errors/almanac-error';

import type { Cursor } from './cursor.js';
import { Kind } from './lex.js';
import type { QueryText } from './query-text.js';

/** What a TQL statement does with its query. */
export type TqlVerb = 'eval' | 'explain' | 'analyze';
/** Output format of TQL EXPLAIN and ANALYZE. */
export type TqlFormat = 'text' | 'json' | 'graphviz';

/** A TQL statement as written. */
export interface TqlText {
  readonly verb: TqlVerb;
  readonly format: TqlFormat;
  readonly isVerbose: boolean;
  /** Start, end, step and lookback, as far as given; undefined without parentheses. */
  readonly parameters: readonly QueryText[] | undefined;
  /** PromQL. */
  readonly query: string;
  /** Name of the value column, if given. */
  readonly alias: string | undefined;
}

const VERBS: Readonly<Partial<Record<string, TqlVerb>>> = {
  eval: 'eval',
  evaluate: 'eval',
  explain: 'explain',
  analyze: 'analyze',
};
const FORMATS: Readonly<Partial<Record<string, TqlFormat>>> = { json: 'json', text: 'text', graphviz: 'graphviz' };
/** `AS name` at the end of a query names its values. */
const ALIAS = /\sAS\s+(?:"((?:[^"]|"")+)"|`([^`]+)`|([A-Za-z_]\w*))$/i;
/** Longest end of a query that is searched for a name. */
const ALIAS_CHARS_MAX = 600;

/** Parses a statement up to its end. The first word has been checked already. @throws `invalid_syntax`. */
export function parseTql(cursor: Cursor): TqlText {
  cursor.expect('TQL');
  const verb = VERBS[cursor.name('EVAL, EXPLAIN or ANALYZE')];
  if (verb === undefined) throw invalidTql('expected EVAL, EXPLAIN or ANALYZE');
  let isVerbose = false;
  let format: TqlFormat = 'text';
  while (verb !== 'eval' && (cursor.sees('VERBOSE') || cursor.sees('FORMAT'))) {
    if (cursor.accept('VERBOSE')) isVerbose = true;
    else format = parseFormat(cursor);
  }
  const parameters = cursor.seesSymbol('(') ? parseParameters(cursor) : undefined;
  if (cursor.done || cursor.tokens.kind(cursor.at) !== Kind.promql) throw invalidTql('expected a PromQL query');
  const { query, alias } = withoutAlias(cursor.tokens.raw(cursor.at++));
  cursor.expectEnd();
  return { verb, format, isVerbose, parameters, query, alias };
}

function parseFormat(cursor: Cursor): TqlFormat {
  cursor.expect('FORMAT');
  const name = cursor.name('format');
  const format = FORMATS[name];
  if (format !== undefined) return format;
  throw invalidTql(`unknown format ${name.slice(0, 40)}, expected JSON, TEXT or GRAPHVIZ`);
}

function parseParameters(cursor: Cursor): QueryText[] {
  const parameters: QueryText[] = [];
  cursor.expectSymbol('(');
  while (!cursor.acceptSymbol(')')) {
    const { from, to } = cursor.skipExpression();
    if (from === to) throw invalidTql(`expected an expression, found ${found(cursor)}`);
    parameters.push({ tokens: cursor.tokens, from, to });
    if (!cursor.acceptSymbol(',') && !cursor.seesSymbol(')')) throw cursor.unexpected(', or )');
  }
  if (parameters.length === 3 || parameters.length === 4) return parameters;
  const wanted = 'Expected 3 or 4 expressions in TQL parameters (start, end, step, [lookback])';
  throw invalidTql(`${wanted}, but found ${parameters.length}`);
}

function withoutAlias(text: string): { readonly query: string; readonly alias: string | undefined } {
  const end = text.slice(-ALIAS_CHARS_MAX);
  const [whole, quoted, ticked, plain] = ALIAS.exec(end) ?? [];
  if (whole === undefined) return { query: text, alias: undefined };
  const alias = (quoted as string | undefined)?.replaceAll('""', '"') ?? ticked ?? plain.toLowerCase();
  return { query: text.slice(0, text.length - whole.length), alias };
}

function found(cursor: Cursor): string {
  return cursor.done ? 'EOF' : cursor.tokens.raw(cursor.at).slice(0, 50);
}

/** Creates the error for invalid TQL. */
export function invalidTql(reason: string): AlmanacError {
  return new AlmanacError('invalid_syntax', `Invalid TQL syntax: ${reason}`);
}
