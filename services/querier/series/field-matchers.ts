import type { Slices } from '#shared/clock/slices';

import { compileMatcher, passing, type LabelMatcher } from './matcher.js';

/** Label that selects a field of a table with several fields. */
export const FIELD_LABEL = '__field__';

/**
 * Returns the fields that matchers of `__field__` select: those that any `=` or `=~` matches, or all if there are none of
 * these, without those that `!=` or `!~` excludes.
 */
export async function selectedFields<T extends { readonly name: string }>(
  fields: readonly T[],
  matchers: readonly LabelMatcher[],
  slices: Slices,
): Promise<readonly T[]> {
  const own = matchers.filter(({ name }) => name === FIELD_LABEL);
  if (own.length === 0) return fields;
  const named = own.filter(({ op }) => op === '=' || op === '=~').map((matcher) => compileMatcher(matcher));
  const kept = own.filter(({ op }) => op === '!=' || op === '!~').map((matcher) => compileMatcher(matcher));
  const found = new Set<T>();
  for (const test of named) for (const field of await passing(fields, nameOf, [test], slices)) found.add(field);
  const rest = named.length === 0 ? fields : fields.filter((field) => found.has(field));
  return passing(rest, nameOf, kept, slices);
}

function nameOf({ name }: { readonly name: string }): string {
  return name;
}
