import { RE2JS, RE2JSSyntaxException } from 're2js';

import { AlmanacError } from '#shared/errors/almanac-error';

import type { LabelMatcher } from './ast.js';

/** Whether a label's value fits; an absent label is `''`. */
export type ValueTest = (value: string) => boolean;

const ESCAPED = /\\([^A-Za-z0-9])/g;
/** Text without anything that means something in a regular expression, but for escapes of signs. */
const LITERAL = /^(?:[^\\.+*?()|[\]{}^$]|\\[^A-Za-z0-9])*$/;

/**
 * Makes the test of a matcher. Regular expressions are RE2's, anchored at both ends, and a dot matches a line end.
 *
 * The usual forms (literals, alternatives of literals, a literal with `.*` or `.+` around) need no engine.
 *
 * @throws `invalid_syntax` if the expression is none.
 */
export function compileMatcher(matcher: LabelMatcher): ValueTest {
  let test = COMPILED.get(matcher);
  if (test === undefined) {
    test = compile(matcher);
    COMPILED.set(matcher, test);
  }
  return test;
}

/** Compiling may take long, and is asked for by the parser, by its checks and by the source of samples. */
const COMPILED = new WeakMap<LabelMatcher, ValueTest>();

function compile({ op, value }: LabelMatcher): ValueTest {
  switch (op) {
    case '=':
      return (text) => text === value;
    case '!=':
      return (text) => text !== value;
    case '=~':
      return compilePattern(value);
    case '!~': {
      const test = compilePattern(value);
      return (text) => !test(text);
    }
  }
}

/** Whether a series without the label fits. */
export function matchesEmpty(matcher: LabelMatcher): boolean {
  return compileMatcher(matcher)('');
}

function compilePattern(pattern: string): ValueTest {
  const alternatives = pattern.split('|');
  if (alternatives.every((it) => LITERAL.test(it))) {
    if (alternatives.length === 1) {
      const only = unescaped(pattern);
      return (text) => text === only;
    }
    const values = new Set(alternatives.map(unescaped));
    return (text) => values.has(text);
  }
  return compileAffix(pattern) ?? compileEngine(pattern);
}

/** A literal with `.*` or `.+` in front, behind, or both; or one of these alone. */
function compileAffix(pattern: string): ValueTest | undefined {
  const front = /^\.[*+]/.exec(pattern)?.[0] ?? '';
  const rest = pattern.slice(front.length);
  const back = /(?<!\\)\.[*+]$/.exec(rest)?.[0] ?? '';
  const middle = rest.slice(0, rest.length - back.length);
  if ((front === '' && back === '') || !LITERAL.test(middle)) return undefined;
  const literal = unescaped(middle);
  const before = front === '.+' ? 1 : 0;
  const after = back === '.+' ? 1 : 0;
  const least = before + literal.length + after;
  if (front === '') return (text) => text.length >= least && text.startsWith(literal);
  if (back === '') return (text) => text.length >= least && text.endsWith(literal);
  return (text) => {
    const at = text.indexOf(literal, before);
    return at >= 0 && at + literal.length + after <= text.length;
  };
}

function compileEngine(pattern: string): ValueTest {
  const regex = compileRegex(pattern);
  return (text) => regex.matches(text);
}

/** Greatest weight of an expression for the engine: about a second of compiling. */
const WEIGHT_MAX = 64 * 1024;
/** A class of Unicode has hundreds of ranges. */
const UNICODE_WEIGHT = 64;
const UNICODE_CLASS = /\\p/gi;
const REPEAT = /\{(?:\d+,)?(\d+)/g;

/** An expression of RE2, in which a dot matches a line end. @throws `invalid_syntax` if it is none, or too large to be compiled soon. */
export function compileRegex(pattern: string): RE2JS {
  const classes = pattern.match(UNICODE_CLASS)?.length ?? 0;
  let repeats = 0;
  for (const [, count] of pattern.matchAll(REPEAT)) repeats += Number(count);
  const weight = pattern.length + classes * UNICODE_WEIGHT + repeats * (classes > 0 ? UNICODE_WEIGHT : 1);
  if (weight > WEIGHT_MAX) throw new AlmanacError('invalid_syntax', 'error parsing regexp: expression too large');
  try {
    return RE2JS.compile(pattern, RE2JS.DOTALL);
  } catch (error) {
    if (!(error instanceof RE2JSSyntaxException)) throw error;
    const { error: reason, input } = error;
    // The engine writes the flag in front.
    const shown = input === `(?s)${pattern}` ? pattern : input;
    throw new AlmanacError('invalid_syntax', `error parsing regexp: ${reason}: \`${shown}\``, { cause: error });
  }
}

function unescaped(literal: string): string {
  return literal.replaceAll(ESCAPED, '$1');
}
