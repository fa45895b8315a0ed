import { RE2JS } from 're2js';

import { AlmanacError } from '#shared/errors/almanac-error';

import type { NameCondition } from './influxql.js';

/** Whether a name is one of those that a statement selects. */
export type NameTest = (name: string) => boolean;

const PATTERN_CHARACTERS_MAX = 1_000;

/** Returns the test for a condition on names. @throws `invalid_syntax` for a regular expression that is not allowed. */
export function nameTest({ isPattern, isNegative, value }: NameCondition): NameTest {
  if (!isPattern) return (name) => (name === value) !== isNegative;
  const expression = checkPattern(value);
  return (name) => expression.matcher(name).find() !== isNegative;
}

/**
 * Compiles a regular expression. Counted repetitions are refused: nested ones compile to expressions of any size.
 *
 * @throws `invalid_syntax`.
 */
export function checkPattern(pattern: string): RE2JS {
  if (pattern.length > PATTERN_CHARACTERS_MAX || /\{\d/.test(pattern)) {
    throw new AlmanacError('invalid_syntax', 'error parsing regexp: too long, or a repetition with a count');
  }
  try {
    return RE2JS.compile(pattern);
  } catch (error) {
    throw new AlmanacError('invalid_syntax', (error as Error).message, { cause: error });
  }
}
