import type { LabelMatcher } from './ast.js';
import { compileMatcher } from './matcher.js';

/** The label that names a field of a table with several. */
export const FIELD_LABEL = '__field__';

/**
 * Tells which fields matchers of `__field__` mean: those that one of `=` and `=~` names, or all if there are none, but
 * none that `!=` or `!~` leaves out.
 */
export function fieldTest(matchers: readonly LabelMatcher[]): (field: string) => boolean {
  const own = matchers.filter(({ name }) => name === FIELD_LABEL);
  const named = own.filter(({ op }) => op === '=' || op === '=~').map((matcher) => compileMatcher(matcher));
  const kept = own.filter(({ op }) => op === '!=' || op === '!~').map((matcher) => compileMatcher(matcher));
  return (field) => (named.length === 0 || named.some((test) => test(field))) && kept.every((test) => test(field));
}
