import { RE2JS, RE2JSSyntaxException } from 're2js';

import type { Slices } from '#shared/clock/slices';
import { AlmanacError } from '#shared/errors/almanac-error';

/** Comparison operator of a label matcher; `=~` and `!~` take an RE2 expression that is anchored at both ends. */
export type MatchOperator = '=' | '!=' | '=~' | '!~';

/** One condition of a selector on a label; a label that a series lacks has the empty value. */
export interface LabelMatcher {
  readonly name: string;
  readonly op: MatchOperator;
  readonly value: string;
}

/** Whether a label's value fits; an absent label is `''`. */
export interface ValueTest {
  (value: string): boolean;
  /** What one value may take, as so many numbers that are looked at: others are served between values of an engine's. */
  readonly work?: number | undefined;
}

/** Work of a test that names none. */
export const PLAIN_WORK = 8;
/** After each match of an engine the clock is looked at. */
export const MATCH_WORK = 1 << 14;

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
      return Object.assign((text: string) => !test(text), { work: test.work });
    }
  }
}

/** The items whose text passes all tests; others are served between. */
export async function passing<T>(
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
  return Object.assign((text: string) => regex.matches(text), { work: MATCH_WORK });
}

/** Greatest weight of an expression for the engine: about a tenth of a second of compiling. */
const WEIGHT_MAX = 64 * 1024;
/** Lists of names are long, and soon compiled; repeats need not have so many instructions. */
const REPEAT_WEIGHT = 3;
/** A class of Unicode has hundreds of ranges. */
const UNICODE_WEIGHT = 64;
/** Quoted text, an escape, a class, how often the last part comes (most times last), or a character. */
const PART =
  /\\Q[^]*?(?:\\E|$)|\\[pPx]\{\^?\w*\}|\\[pP]?.|\[\^?\]?(?:\\[^]|\[:\^?\w+:\]|[^\]\\])*\]|\{\d+(?:,(\d*))?\}|[^]/gu;
const UNICODE_CLASS = /\\p/gi;

/** About as many instructions as the expression is compiled to, those that come of repeats more than once. */
function weightOf(pattern: string): number {
  const outer: number[] = [];
  let sum = 0;
  let last = 0;
  for (const [part, most] of pattern.matchAll(PART)) {
    if (part === '(') {
      outer.push(sum);
      sum = 1;
    } else if (part === ')') {
      last = sum;
      sum += outer.pop() ?? 0;
    } else if (part.startsWith('{') && part !== '{') {
      const times = Math.max(1, Number(most === undefined || most === '' ? part.slice(1).split(/[,}]/, 1)[0] : most));
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

/** Instructions that one match may look at: less than a tenth of a second. */
const MATCH_STEPS_MAX = 300_000;
/** With groups it is another automaton, whose steps are quick in a small program, and slow with the groups they carry. */
const GROUPS_STEPS_MAX = 3_000_000;
const SMALL_PROGRAM = 1_000;
const GROUPS_PER_STEP = 64;

/** The group of a match by its number or name; `''` if there is none. */
type Groups = (name: string) => string;

/**
 * An expression of RE2, in which a dot matches a line end.
 *
 * The engine is linear, but in expression times text: `(?:a?b?){1000}` takes half a second for 1,000 characters. So the
 * instructions are counted that a match looks at. A weight of both told beforehand would refuse what is quick: most
 * expressions are in few states, each of which is made once, however long the text is.
 */
class Regex {
  readonly #engine: RE2JS;
  readonly #size: number;
  #stepsLeft = 0;

  constructor(engine: RE2JS) {
    this.#engine = engine;
    this.#size = engine.programSize();
    // Each automaton takes instructions from here when it follows them, and none for a state that it has.
    const program = engine.re2().prog as { inst: readonly unknown[] };
    const { inst } = program;
    Object.defineProperty(program, 'inst', {
      get: () => {
        if (--this.#stepsLeft >= 0) return inst;
        throw new AlmanacError('execute_query', 'regular expression takes too long to match a label value');
      },
    });
  }

  /** Whether it is the whole text. @throws `execute_query` if that takes too many steps. */
  matches(text: string): boolean {
    this.#stepsLeft = MATCH_STEPS_MAX;
    return this.#engine.matches(text);
  }

  /** What its groups are if it is the whole text. @throws `execute_query` if that takes too many steps, as does the result. */
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

/** @throws `invalid_syntax` if the expression is none, or too large to be compiled soon. */
export function compileRegex(pattern: string): Regex {
  if (weightOf(pattern) > WEIGHT_MAX) {
    throw new AlmanacError('invalid_syntax', 'error parsing regexp: expression too large');
  }
  try {
    return new Regex(RE2JS.compile(pattern, RE2JS.DOTALL));
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
