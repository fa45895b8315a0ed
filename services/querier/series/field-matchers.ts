import type { Slices } from '#shared/clock/slices';

import type { LabelMatcher } from './matcher.js';
import { compileMatcher, passing } from './matcher.js';

/** The label that names a field of a table with several. */
export const FIELD_LABEL = '__field__';

/**
 * The fields that matchers of `__field__` mean: those that one of `=` and `=~` names, or all if there are none, but none
 * that `!=` or `!~` leaves out.
 */
export async function fieldsMeant<T extends { readonly name: string }>(
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
