import type { Slices } from '#shared/clock/slices';

/** Sorting a row takes as long as this many numbers. */
const ROW_WORK = 10;

/**
 * Returns the numbers of rows, sorted by series and time. Rows that are equal in both stay in their order. Rows that are
 * nearly in order are sorted in one pass or two.
 *
 * @param sids series of each row
 * @param times of at least as many rows
 */
export async function sortedRows(sids: Uint32Array, times: Float64Array, slices: Slices): Promise<Uint32Array> {
  const { order, ends } = bySeries(sids);
  const scratch = new Uint32Array(longest(ends));
  let from = 0;
  for (const to of ends) {
    while (mergeOnce({ order, times, scratch }, from, to)) {
      if (slices.isOver((to - from) * ROW_WORK)) await slices.yield();
    }
    if (slices.isOver(1 + to - from)) await slices.yield();
    from = to;
  }
  return order;
}

/** Series are numbered again if there are fewer rows than this part of the numbers between the least and the greatest. */
const SPARSE = 4;

/** Returns row numbers by series, and where each series ends. */
function bySeries(sids: Uint32Array): { readonly order: Uint32Array; readonly ends: Uint32Array } {
  const [least, count] = rangeOf(sids);
  if (count > SPARSE * sids.length) return bySeries(ranksOf(sids));
  const ends = new Uint32Array(count);
  for (const sid of sids) ends[sid - least]++;
  for (let i = 1; i < count; i++) ends[i] += ends[i - 1];
  const at = Uint32Array.from(ends, (_, i) => (i === 0 ? 0 : ends[i - 1]));
  const order = new Uint32Array(sids.length);
  for (let row = 0; row < sids.length; row++) order[at[sids[row] - least]++] = row;
  return { order, ends };
}

/** Returns numbers without gaps that are in the same order. */
function ranksOf(sids: Uint32Array): Uint32Array {
  const distinct = Uint32Array.from(new Set(sids)).sort();
  const ranks = new Map(Array.from(distinct, (sid, rank) => [sid, rank]));
  return sids.map((sid) => ranks.get(sid) ?? 0);
}

/** Returns the least number, and how many there are from it to the greatest. */
function rangeOf(numbers: Uint32Array): [number, number] {
  if (numbers.length === 0) return [0, 0];
  let [least, greatest] = [numbers[0], numbers[0]];
  for (const number of numbers) {
    if (number < least) least = number;
    if (number > greatest) greatest = number;
  }
  return [least, greatest - least + 1];
}

function longest(ends: Uint32Array): number {
  let length = 0;
  for (let i = 0; i < ends.length; i++) length = Math.max(length, ends[i] - (i === 0 ? 0 : ends[i - 1]));
  return length;
}

interface Sorting {
  readonly order: Uint32Array;
  readonly times: Float64Array;
  readonly scratch: Uint32Array;
}

/** Merges what is in order already in `order[from, to)`, two parts at a time. @returns false if all of it is in order. */
function mergeOnce(sorting: Sorting, from: number, to: number): boolean {
  let isMerged = false;
  for (let first = from; first < to;) {
    const middle = endOfSorted(sorting, first, to);
    const end = middle === to ? to : endOfSorted(sorting, middle, to);
    if (middle < end) {
      mergeSorted(sorting, first, middle, end);
      isMerged = true;
    }
    first = end;
  }
  return isMerged;
}

/** Returns the end of the rows from `first` on that are in order. */
function endOfSorted({ order, times }: Sorting, first: number, to: number): number {
  let end = first + 1;
  while (end < to && times[order[end]] >= times[order[end - 1]]) end++;
  return end;
}

/** Merges `order[first, middle)` and `order[middle, end)`. */
function mergeSorted({ order, times, scratch }: Sorting, first: number, middle: number, end: number): void {
  const count = middle - first;
  for (let i = 0; i < count; i++) scratch[i] = order[first + i];
  let [left, right] = [0, middle];
  for (let at = first; left < count; at++) {
    const isLeft = right === end || times[scratch[left]] <= times[order[right]];
    order[at] = isLeft ? scratch[left++] : order[right++];
  }
}
