import { quoteText } from '#shared/duckdb/quote';
import { AlmanacError } from '#shared/errors/almanac-error';
import type { Needle, TextQuery } from '#shared/term-index/text-query';

import { call, cast, textConstant, textNode, type Ast } from '../syntax/ast.js';
import { queryOfWords } from '../syntax/word-query.js';
import type { FunctionContext, FunctionRule } from './function.js';

/** A condition on a text, as far as it is known before the engine runs. */
interface KnownCondition {
  /** Returns undefined if the index cannot help. */
  readonly query: (literal: string) => TextQuery | undefined;
  /** Returns SQL of the condition. @param text SQL of the text. */
  readonly sql: (text: string, literal: string) => string;
}

const UNICODE_WORD = '[\\p{L}\\p{N}]';
const ASCII_WORD = '[0-9A-Za-z]';

/**
 * Returns the pattern of a term and its neighbours: no letters or digits, where the term itself begins or ends with one.
 * Languages without spaces have no such neighbours.
 */
function termPattern(term: string): string {
  if (term === '') return '^$';
  if (/\p{Script=Han}/u.test(term)) return '';
  const word = /[^\0-\x7f]/.test(term) && /(?=[^\0-\x7f])\p{L}/u.test(term) ? UNICODE_WORD : ASCII_WORD;
  const isWord = new RegExp(word, 'u');
  const others = word.replace('[', '[^');
  const [first, last] = [String.fromCodePoint(term.codePointAt(0) ?? 0), /.$/su.exec(term)?.[0] ?? ''];
  const escaped = term.replaceAll(/[^\p{L}\p{N}\s]/gu, (character) => `\\x{${character.codePointAt(0)?.toString(16)}}`);
  return `${isWord.test(first) ? `(^|${others})` : ''}${escaped}${isWord.test(last) ? `($|${others})` : ''}`;
}

function termSql(text: string, term: string): string {
  const pattern = termPattern(term);
  if (term === '') return `${text} = ''`;
  const isPart = `contains(${text}, ${quoteText(term)})`;
  return pattern === '' ? isPart : `(${isPart} AND regexp_matches(${text}, ${quoteText(pattern)}))`;
}

const TERM: KnownCondition = {
  query: (term) => (term === '' ? undefined : needle(term, true)),
  sql: termSql,
};

const PART: KnownCondition = {
  query: (part) => needle(part, false),
  sql: (text, part) => `contains(${text}, ${quoteText(part)})`,
};

const LIKE: KnownCondition = {
  query: (pattern) => likeQuery(pattern, false),
  sql: (text, pattern) => `${text} LIKE ${quoteText(pattern)}`,
};

const ILIKE: KnownCondition = {
  query: (pattern) => likeQuery(pattern, true),
  sql: (text, pattern) => `${text} ILIKE ${quoteText(pattern)}`,
};

const WORDS: KnownCondition = {
  query: queryOfWords,
  sql: (text, words) => wordsSql(text, queryOfWords(words)),
};

function needle(text: string, isTerm: boolean): Needle {
  return { kind: 'needle', text, isTerm, folds: false };
}

/** Returns a query that every matching text matches: each literal run of the pattern is part of it. */
function likeQuery(pattern: string, folds: boolean): TextQuery | undefined {
  const runs = pattern.split(/[%_]/).filter((run) => run !== '');
  // The lower case of a capital I with a dot is not the same everywhere.
  if (runs.length === 0 || (folds && pattern.includes('\u0130'))) return undefined;
  const parts = runs.map((run): TextQuery => {
    return { kind: 'needle', text: folds ? run.toLowerCase() : run, isTerm: false, folds };
  });
  // An index that is exact about the runs knows nothing of their order, unless the only one may be anywhere.
  if (/^%[^%_]+%$/.test(pattern)) return parts[0];
  return { kind: 'all', parts: [...parts, ANYTHING] };
}

/** A condition that no text satisfies. */
const NOTHING: TextQuery = { kind: 'any', parts: [] };
/** A condition that no index is exact about. */
const ANYTHING: TextQuery = { kind: 'not', part: NOTHING };

function wordsSql(text: string, query: TextQuery): string {
  if (query.kind === 'needle') return `contains(${text}, ${quoteText(query.text)})`;
  if (query.kind === 'not') return `NOT ${wordsSql(text, query.part)}`;
  const parts = query.parts.map((part) => wordsSql(text, part));
  return `(${parts.join(query.kind === 'all' ? ' AND ' : ' OR ')})`;
}

/** Records a condition on a text; a text in lower case ignores case. */
function record(node: Ast, context: FunctionContext, condition: KnownCondition): Ast {
  const [text, given] = node.children ?? [];
  const literal = given === undefined ? undefined : context.literalOf(given);
  if (literal?.kind !== 'text') return node;
  const isLower = text.class === 'FUNCTION' && (text.function_name === 'lower' || text.function_name === 'lcase');
  const column = isLower ? text.children?.[0] : text;
  if (column?.class !== 'COLUMN_REF') return node;
  context.textCondition(node, column, {
    query: (run) => {
      const query = condition.query(literal.in(run).value);
      return query === undefined || !isLower ? query : foldedQuery(query);
    },
    sql: (run, name) => condition.sql(isLower ? `lower(${name})` : name, literal.in(run).value),
  });
  return node;
}

function foldedQuery(query: TextQuery): TextQuery {
  // A text in lower case has no other letters.
  if (query.kind === 'needle') return /[A-Z]/.test(query.text) ? NOTHING : { ...query, folds: true };
  if (query.kind === 'not') return { kind: 'not', part: foldedQuery(query.part) };
  return { kind: query.kind, parts: query.parts.map(foldedQuery) };
}

const matchesTerm: FunctionRule = {
  names: ['matches_term', '@@'],
  rewrite(node, context) {
    const [text, term] = node.children ?? [];
    if (text === undefined || term === undefined || node.children?.length !== 2) return node;
    const literal = context.literalOf(term);
    const pattern =
      literal?.kind === 'text'
        ? context.perRun((run) => quoteText(termPattern(literal.in(run).value)))
        : patternOf(cast(term, 'VARCHAR'));
    // A null has no type of its own.
    const part = literal?.kind === 'text' ? term : cast(structuredClone(term), 'VARCHAR');
    const parts = [call('contains', text, part), call('regexp_matches', structuredClone(text), pattern)];
    const result: Ast = { class: 'CONJUNCTION', type: 'CONJUNCTION_AND', alias: '', children: parts };
    return copyCondition(record(node, context, TERM), result, context);
  },
};

/** Builds `termPattern` of a term that only the engine knows. */
function patternOf(term: Ast): Ast {
  const has = (pattern: string): Ast => call('regexp_matches', structuredClone(term), textNode(pattern));
  const when = (checks: readonly (readonly [Ast, Ast])[], otherwise: Ast): Ast =>
    ({
      class: 'CASE',
      type: 'CASE_EXPR',
      alias: '',
      case_checks: checks.map(([condition, result]) => ({ when_expr: condition, then_expr: result })),
      else_expr: otherwise,
    }) as Ast;
  const ascii = ['[\\x00-\\x7F]', '', 'g'].map(textNode);
  const otherCharacters = call('regexp_replace', structuredClone(term), ...ascii);
  const bounded = (word: string): Ast => {
    const others = word.replace('[', '[^');
    const left = when([[has(`^${word}`), textNode(`(^|${others})`)]], textNode(''));
    const right = when([[has(`${word}$`), textNode(`($|${others})`)]], textNode(''));
    return call('concat', left, call('regexp_escape', structuredClone(term)), right);
  };
  return when(
    [
      [has('^$'), textNode('^$')],
      [has('\\p{Han}'), textNode('')],
      [call('regexp_matches', otherCharacters, textNode('\\p{L}')), bounded(UNICODE_WORD)],
    ],
    bounded(ASCII_WORD),
  );
}

/** `matches(text, query)`: the shape of the condition depends on the query, so it must be a literal. */
const matchesWords: FunctionRule = {
  names: ['matches'],
  rewrite(node, context) {
    const [text, query] = node.children ?? [];
    const words = query === undefined ? undefined : textConstant(query);
    if (words === undefined || node.children?.length !== 2) {
      throw new AlmanacError('plan_query', 'Failed to plan SQL: matches requires a text and a literal query');
    }
    return copyCondition(record(node, context, WORDS), wordsNode(text, queryOfWords(words)), context);
  },
};

function wordsNode(text: Ast, query: TextQuery): Ast {
  if (query.kind === 'needle') return call('contains', structuredClone(text), textNode(query.text));
  const type = query.kind === 'not' ? 'OPERATOR_NOT' : query.kind === 'all' ? 'CONJUNCTION_AND' : 'CONJUNCTION_OR';
  const parts = query.kind === 'not' ? [query.part] : query.parts;
  const children = parts.map((part) => wordsNode(text, part));
  return { class: query.kind === 'not' ? 'OPERATOR' : 'CONJUNCTION', type, alias: '', children };
}

function copyCondition(from: Ast, to: Ast, context: FunctionContext): Ast {
  context.moveCondition(from, to);
  return to;
}

const known = (condition: KnownCondition, ...names: string[]): FunctionRule => ({
  names,
  rewrite: (node, context) => record(node, context, condition),
});

/** Functions and operators that search texts. */
export const TEXT_SEARCH_FUNCTIONS: readonly FunctionRule[] = [
  matchesTerm,
  matchesWords,
  known(PART, 'contains'),
  known(LIKE, '~~'),
  known(ILIKE, '~~*'),
];
