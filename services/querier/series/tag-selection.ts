import type { Slices } from '#shared/clock/slices';

import { Integers } from './growing.js';
import type { SeriesIndex } from './series-index.js';
import { intersectionOf, NO_SERIES, sortSids } from './series-sets.js';

/** A value's series are listed if they are fewer than this many times those that other tags leave. */
const LIST_FACTOR = 64;

/** Series of a tag that are read in one go. */
const READY_SERIES_MAX = 10_000;

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
  let found: Int32Array | undefined;
  for (const tag of selectedTags(index, tagValues)) {
    found = isListed(tag, found)
      ? joined(found, await listed(index, tag, count, slices))
      : filtered(index, found ?? NO_SERIES, tag);
    if (found.length === 0) break;
  }
  return found ?? NO_SERIES;
}

/** Does what `seriesWithTags` does, if each tag has one value, whose series have been sorted; undefined otherwise. */
export function readySeriesWithTags(
  index: SeriesIndex,
  tagValues: ReadonlyMap<number, readonly string[]>,
  count: number,
): Int32Array | undefined {
  let found: Int32Array | undefined;
  for (const tag of selectedTags(index, tagValues)) {
    const { label, numbers, seriesCount } = tag;
    if (numbers.length > 1 || seriesCount > READY_SERIES_MAX || !label.postings.has(count)) return undefined;
    const ofTag = numbers.length === 0 ? NO_SERIES : label.postings.of(numbers[0], count);
    found = isListed(tag, found) ? joined(found, ofTag) : filtered(index, found ?? NO_SERIES, tag);
  }
  return found ?? NO_SERIES;
}

/** Returns the tags, that of the fewest series first: it leaves the fewest for the others. */
function selectedTags(index: SeriesIndex, tagValues: ReadonlyMap<number, readonly string[]>): readonly SelectedTag[] {
  const tags: SelectedTag[] = [];
  for (const [tagId, values] of tagValues) {
    const label = index.labelOfTag(tagId);
    if (label === undefined) return [];
    const numbers = numbersOf(label, values);
    let seriesCount = 0;
    for (const number of numbers) seriesCount += label.countOf(number);
    tags.push({ label, numbers, seriesCount });
  }
  return tags.length < 2 ? tags : tags.sort((a, b) => a.seriesCount - b.seriesCount);
}

function numbersOf(label: SelectedTag['label'], values: readonly string[]): number[] {
  const numbers: number[] = [];
  for (const value of values) {
    const number = label.numberOf(value);
    if (number !== undefined) numbers.push(number);
  }
  return numbers.length < 2 ? numbers : [...new Set(numbers)];
}

/** Reports whether the series of a tag are to be listed, instead of looking at the tag of those that others leave. */
function isListed({ seriesCount }: SelectedTag, found: Int32Array | undefined): boolean {
  return found === undefined || seriesCount < found.length * LIST_FACTOR;
}

function joined(found: Int32Array | undefined, ofTag: Int32Array): Int32Array {
  return found === undefined ? ofTag : intersectionOf(found, ofTag);
}

function filtered(index: SeriesIndex, found: Int32Array, { label, numbers }: SelectedTag): Int32Array {
  const selected = new Set(numbers);
  return found.filter((sid) => selected.has(index.valueOf(sid, label.position)));
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
