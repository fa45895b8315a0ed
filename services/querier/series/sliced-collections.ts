import type { Slices } from '#shared/clock/slices';

/** Cost of adding one text to a set, in units of reading one number. */
const TEXT_WORK = 32;
/** Number of items that are sorted without yielding. */
const RUN_LENGTH = 4096;
/** Cost of merging one item, in units of reading one number. */
const MERGE_WORK = 32;
/** Cost of sorting a run. */
const RUN_WORK = RUN_LENGTH * MERGE_WORK;

/** Sorts items with a stable merge sort that yields to the event loop. May sort in place. */
export async function sortedInSlices<T>(
  items: T[],
  compare: (one: T, other: T) => number,
  slices: Pick<Slices, 'isOver' | 'yield'>,
): Promise<T[]> {
  if (items.length <= RUN_LENGTH) return items.sort(compare);
  let runs: T[][] = [];
  for (let at = 0; at < items.length; at += RUN_LENGTH) {
    runs.push(items.slice(at, at + RUN_LENGTH).sort(compare));
    if (slices.isOver(RUN_WORK)) await slices.yield();
  }
  while (runs.length > 1) {
    const next: T[][] = [];
    for (let i = 0; i < runs.length; i += 2) {
      next.push(i + 1 < runs.length ? await mergedRuns(runs[i], runs[i + 1], compare, slices) : runs[i]);
    }
    runs = next;
  }
  return runs[0];
}

async function mergedRuns<T>(
  one: readonly T[],
  other: readonly T[],
  compare: (one: T, other: T) => number,
  slices: Pick<Slices, 'isOver' | 'yield'>,
): Promise<T[]> {
  const all: T[] = [];
  let i = 0;
  let j = 0;
  while (i < one.length || j < other.length) {
    const isFirst = j >= other.length || (i < one.length && compare(one[i], other[j]) <= 0);
    all.push(isFirst ? one[i++] : other[j++]);
    if (slices.isOver(MERGE_WORK)) await slices.yield();
  }
  return all;
}

/** Adds texts to a set, yielding to the event loop in between. */
export async function addAll(set: Set<string>, texts: Iterable<string>, slices: Slices): Promise<void> {
  for (const text of texts) {
    set.add(text);
    if (slices.isOver(TEXT_WORK)) await slices.yield();
  }
}
