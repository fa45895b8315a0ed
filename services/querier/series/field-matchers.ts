import type { Slices } from '#shared/clock/slices';

import { compileMatcher, filterByTests, type LabelMatcher } from './matcher.js';

/** Label that selects a field of a table with several fields. */
export const FIELD_LABEL = '__field__';

/**
 * Returns the fields that matchers of `__field__` select: the fields that any `=` or `=~` matcher matches (all fields if
 * there is no such matcher) except those that a `!=` or `!~` matcher excludes.
 */
export async function selectedFields<T extends { readonly name: string }>(
  fields: readonly T[],
  matchers: readonly LabelMatcher[],
  slices: Slices,
): Promise<readonly T[]> {
  const own = matchers.filter(({ name }) => name === FIELD_LABEL);
  if (own.length === 0) return fields;
  const including = own.filter(({ op }) => op === '=' || op === '=~').map((matcher) => compileMatcher(matcher));
  const excluding = own.filter(({ op }) => op === '!=' || op === '!~').map((matcher) => compileMatcher(matcher));
  const included = new Set<T>();
  for (const test of including) {
    for (const field of await filterByTests(fields, nameOf, [test], slices)) included.add(field);
  }
  const candidates = including.length === 0 ? fields : fields.filter((field) => included.has(field));
  return filterByTests(candidates, nameOf, excluding, slices);
}

function nameOf({ name }: { readonly name: string }): string {
  return name;
}
