import type { Slices } from '#shared/clock/slices';

import { Integers } from './growing.js';
import type { SeriesIndex } from './series-index.js';
import { intersectionOf, NO_SERIES, sortSids } from './series-sets.js';

/** A value's series are listed if they are fewer than this many times those that other tags leave. */
const LIST_FACTOR = 64;

/** A tag, and the numbers of its values that a query selects. */
interface SelectedTag {
  readonly label: NonNullable<ReturnType<SeriesIndex['labelOfTag']>>;
  readonly numbers: readonly number[];
  readonly seriesCount: number;
}

/**
 * Returns the series below `count` that have one of the values of each tag, ascending.
 *
 * @param tagValues values by tag column ID
 */
export async function seriesWithTags(
  index: SeriesIndex,
  tagValues: ReadonlyMap<number, readonly string[]>,
  count: number,
  slices: Slices,
): Promise<Int32Array> {
  const tags: SelectedTag[] = [];
  for (const [tagId, values] of tagValues) {
    const label = index.labelOfTag(tagId);
    if (label === undefined) return NO_SERIES;
    const numbers = [...new Set(values.flatMap((value) => label.numberOf(value) ?? []))];
    tags.push({ label, numbers, seriesCount: numbers.reduce((sum, number) => sum + label.countOf(number), 0) });
  }
  let found: Int32Array | undefined;
  // The tag of the fewest series first: it leaves the fewest for the others.
  for (const tag of tags.sort((a, b) => a.seriesCount - b.seriesCount)) {
    if (found === undefined) found = await listed(index, tag, count, slices);
    else if (tag.seriesCount < found.length * LIST_FACTOR) {
      found = intersectionOf(found, await listed(index, tag, count, slices));
    } else {
      const { label, numbers } = tag;
      const selected = new Set(numbers);
      found = found.filter((sid) => selected.has(index.valueOf(sid, label.position)));
    }
    if (found.length === 0) break;
  }
  return found ?? NO_SERIES;
}

async function listed(
  index: SeriesIndex,
  { label, numbers }: SelectedTag,
  count: number,
  slices: Slices,
): Promise<Int32Array> {
  const { postings } = await index.indexed(label, count, slices);
  if (numbers.length === 1) return postings.of(numbers[0], count);
  const found = new Integers();
  for (const number of numbers) {
    postings.addTo(found, number, count);
    if (slices.isOver(LIST_FACTOR)) await slices.yield();
  }
  return sortSids(found.array.slice(0, found.length), count);
}
