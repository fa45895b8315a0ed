import { AlmanacError } from '#shared/errors/almanac-error';

import type { LabelMatcher } from '../../series/matcher.js';
import { matchesEmpty } from '../../series/matcher.js';
import { parseSelector, type Dialect } from '../../promql/syntax/parse.js';

/**
 * The matchers of texts of `match[]`.
 *
 * @throws `invalid_syntax`; `invalid_arguments` if one of them fits every series.
 */
export function parseMatches(texts: readonly string[], dialect: Dialect): (readonly LabelMatcher[])[] {
  const sets = texts.map((text) => parseSelector(text, dialect));
  if (sets.every((matchers) => !matchers.every(matchesEmpty))) return sets;
  throw new AlmanacError('invalid_arguments', 'match[] must contain at least one non-empty matcher');
}
