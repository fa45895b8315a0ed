import { RE2JS, RE2JSSyntaxException } from 're2js';

import type { Slices } from '#shared/clock/slices';
import { AlmanacError } from '#shared/errors/almanac-error';

/** Operator of a label matcher; `=~` and `!~` take an RE2 expression that is anchored at both ends. */
export type MatchOperator = '=' | '!=' | '=~' | '!~';

/** Condition of a selector on one label; an absent label has the empty value. */
export interface LabelMatcher {
  readonly name: string;
  readonly op: MatchOperator;
  readonly value: string;
}

/** Tests a label value; an absent label is `''`. */
export interface ValueTest {
  (value: string): boolean;
  /** Cost of testing one value, in units of reading one number; `PLAIN_WORK` if absent. Callers yield accordingly. */
  readonly work?: number | undefined;
}

/** Cost of a test that does not use the regular expression engine. */
export const PLAIN_WORK = 8;
/** Cost of one match by the engine: high enough to check the clock after each. */
export const MATCH_WORK = 1 << 14;

const ESCAPED = /\\([^A-Za-z0-9])/g;
/** A pattern without metacharacters other than escaped punctuation. */
const LITERAL = /^(?:[^\\.+*?()|[\]{}^$]|\\[^A-Za-z0-9])*$/;

/**
 * Compiles a matcher to a test. Regular expressions have RE2 syntax, are anchored at both ends, and `.` matches newlines.
 *
 * Literals, alternatives of literals, and a literal with `.*` or `.+` around it do not use the engine.
 *
 * @throws `invalid_syntax` when the regular expression is invalid.
 */
export function compileMatcher(matcher: LabelMatcher): ValueTest {
  let test = COMPILED.get(matcher);
  if (test === undefined) {
    test = compile(matcher);
    COMPILED.set(matcher, test);
  }
  return test;
}

/** Tests by matcher: compilation can be slow, and the parser, the checker and the sample source all request the same test. */
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
      return Object.assign((text: string) => !test(text), { work: test.work });
    }
  }
}

/** Compiles a pattern of LIKE: `%` is any text, `_` any character, and no character escapes these. */
export function compileLike(pattern: string): ValueTest {
  const regex = pattern.replaceAll(LIKE_PART, (part) =>
    part.startsWith('%') ? '.*' : part === '_' ? '.' : `\\${part}`,
  );
  return compilePattern(regex);
}

/** What is not literal in a pattern of LIKE, or not in an RE2 expression. Several `%` are as one. */
const LIKE_PART = /%+|[_\\.+*?()|[\]{}^$]/g;

/**
 * Compiles a test whether a part of a text matches an RE2 expression, in which `.` does not match newlines.
 *
 * @throws `invalid_syntax` when the expression is invalid.
 */
export function compileSearch(pattern: string): ValueTest {
  const regex = compileRegex(pattern, 0);
  return Object.assign((text: string) => regex.isIn(text), { work: MATCH_WORK });
}

/** Returns the items whose text passes all tests, yielding between items. */
export async function filterByTests<T>(
  items: readonly T[],
  textOf: (item: T) => string,
  tests: readonly ValueTest[],
  slices: Slices,
): Promise<T[]> {
  const found: T[] = [];
  for (const item of items) {
    let passes = true;
    for (const test of tests) {
      if (slices.isOver(test.work ?? PLAIN_WORK)) await slices.yield();
      passes = test(textOf(item));
      if (!passes) break;
    }
    if (passes) found.push(item);
  }
  return found;
}

/** Reports whether the matcher selects series without the label. */
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

/** Compiles a literal with `.*` or `.+` before it, after it, or both, or one of these alone. */
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
  return Object.assign((text: string) => regex.matches(text), { work: MATCH_WORK });
}

/** Largest weight of an expression that is compiled: about 0.1 s of compilation. */
const WEIGHT_MAX = 64 * 1024;
/** Weight of a repeated instruction. Long lists of names compile quickly; repetition is what makes programs large. */
const REPEAT_WEIGHT = 3;
/** Weight of a Unicode class, which has hundreds of ranges. */
const UNICODE_WEIGHT = 64;
/** Matches quoted text, an escape, a class, a repetition with its maximum, or a character. */
const PART =
  /\\Q[^]*?(?:\\E|$)|\\[pPx]\{\^?\w*\}|\\[pP]?.|\[\^?\]?(?:\\[^]|\[:\^?\w+:\]|[^\]\\])*\]|\{\d+(?:,(\d*))?\}|[^]/gu;
const UNICODE_CLASS = /\\p/gi;

/** Estimates the number of instructions that the expression compiles to, with a penalty for repetitions. */
function weightOf(pattern: string): number {
  const outer: number[] = [];
  let sum = 0;
  let last = 0;
  for (const [part, maximum] of pattern.matchAll(PART)) {
    if (part === '(') {
      outer.push(sum);
      sum = 1;
    } else if (part === ')') {
      last = sum;
      sum += outer.pop() ?? 0;
    } else if (part.startsWith('{') && part !== '{') {
      const times = Math.max(
        1,
        Number(maximum === undefined || maximum === '' ? part.slice(1).split(/[,}]/, 1)[0] : maximum),
      );
      sum += last * (times - 1);
      last *= times;
    } else {
      const classes = part.match(UNICODE_CLASS)?.length ?? 0;
      const own = classes * UNICODE_WEIGHT + (part.startsWith('\\Q') ? part.length : 1);
      const isRepeat = part === '*' || part === '+' || part === '?';
      last = isRepeat ? last + own : own;
      sum += own;
    }
  }
  const repeated = Math.max(0, sum - pattern.length);
  return pattern.length + repeated * REPEAT_WEIGHT;
}

/** Instructions that one match may read: less than 0.1 s. */
const MATCH_STEPS_MAX = 300_000;
/** The same with capture groups. That automaton is fast for small programs, and slower the more groups it has. */
const GROUPS_STEPS_MAX = 3_000_000;
const SMALL_PROGRAM = 1_000;
const GROUPS_PER_STEP = 64;

/** Returns a capture group by number or name; `''` if the group did not take part in the match. */
type Groups = (name: string) => string;

/**
 * A compiled RE2 expression.
 *
 * Matching takes time proportional to expression times text: `(?:a?b?){1000}` takes 0.5 s for 1,000 characters. The class
 * therefore limits the instructions that one match reads. A static limit on that product would refuse fast expressions:
 * most of them reach few automaton states, and each state is built once.
 */
class Regex {
  readonly #engine: RE2JS;
  readonly #size: number;
  #stepsLeft = 0;

  constructor(engine: RE2JS) {
    this.#engine = engine;
    this.#size = engine.programSize();
    // An automaton reads an instruction from this array only when it builds a new state.
    const program = engine.re2().prog as { inst: readonly unknown[] };
    const { inst } = program;
    Object.defineProperty(program, 'inst', {
      get: () => {
        if (--this.#stepsLeft >= 0) return inst;
        throw new AlmanacError('execute_query', 'regular expression takes too long to match a label value');
      },
    });
  }

  /** Reports whether the expression matches the whole text. @throws `execute_query` when matching takes too many steps. */
  matches(text: string): boolean {
    this.#stepsLeft = MATCH_STEPS_MAX;
    return this.#engine.matches(text);
  }

  /** Reports whether the expression matches a part of the text. @throws `execute_query` when matching takes too many steps. */
  isIn(text: string): boolean {
    this.#stepsLeft = MATCH_STEPS_MAX;
    return this.#engine.test(text);
  }

  /** Returns the capture groups if the whole text matches. @throws `execute_query` when matching takes too many steps. */
  groups(text: string): Groups | undefined {
    this.#stepsLeft = GROUPS_STEPS_MAX;
    const matcher = this.#engine.matcher(text);
    const count = matcher.groupCount();
    const stepsMax = this.#size > SMALL_PROGRAM ? MATCH_STEPS_MAX : GROUPS_STEPS_MAX;
    this.#stepsLeft = stepsMax / (1 + count / GROUPS_PER_STEP);
    if (!matcher.matches()) return undefined;
    return (name) => {
      const index = /^\d+$/.test(name) ? Number(name) : this.#engine.namedGroups()[name];
      return index === undefined || index > count ? '' : (matcher.group(index) ?? '');
    };
  }
}

/**
 * Compiles an RE2 expression.
 *
 * @param flags of the package; by default `.` matches newlines
 * @throws `invalid_syntax` when it is invalid or too large to compile quickly
 */
export function compileRegex(pattern: string, flags = RE2JS.DOTALL): Regex {
  if (weightOf(pattern) > WEIGHT_MAX) {
    throw new AlmanacError('invalid_syntax', 'error parsing regexp: expression too large');
  }
  try {
    return new Regex(RE2JS.compile(pattern, flags));
  } catch (error) {
    if (!(error instanceof RE2JSSyntaxException)) throw error;
    const { error: reason, input } = error;
    // The engine prefixes the expression with its flags.
    const shown = input === `(?s)${pattern}` ? pattern : input;
    throw new AlmanacError('invalid_syntax', `error parsing regexp: ${reason}: \`${shown}\``, { cause: error });
  }
}

function unescaped(literal: string): string {
  return literal.replaceAll(ESCAPED, '$1');
}
