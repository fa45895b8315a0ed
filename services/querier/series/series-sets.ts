/** The empty set. Sets of series are ascending arrays of series numbers. */
export const NO_SERIES = new Int32Array(0);

/** Returns the set of all series below `count`. */
export function sidsBelow(count: number): Int32Array {
  const all = new Int32Array(count);
  for (let sid = 0; sid < count; sid++) all[sid] = sid;
  return all;
}

/** Sorts distinct series numbers, all below `count`, in place. */
export function sortSids(sids: Int32Array, count: number): Int32Array {
  // Above an eighth of all series, marking is cheaper than sorting.
  if (sids.length * 8 <= count) return sids.sort();
  const marks = new Uint8Array(count);
  for (const sid of sids) marks[sid] = 1;
  let at = 0;
  for (let sid = 0; sid < count; sid++) if (marks[sid] === 1) sids[at++] = sid;
  return sids;
}

/** Sets whose sizes differ by more than this factor are intersected by a search for each element of the smaller one. */
const SEARCH_FACTOR = 16;

/** Returns the series that are in both sets. */
export function intersectionOf(some: Int32Array, others: Int32Array): Int32Array {
  const [less, more] = some.length <= others.length ? [some, others] : [others, some];
  const both = new Int32Array(less.length);
  let count = 0;
  let at = 0;
  const searches = less.length * SEARCH_FACTOR < more.length;
  for (const sid of less) {
    if (searches) at = lowerBound(more, sid, at);
    else while (at < more.length && more[at] < sid) at++;
    if (at === more.length) break;
    if (more[at] === sid) both[count++] = sid;
  }
  return both.subarray(0, count);
}

/** Returns the position of the first of the ascending series from `from` on that is not below `least`. */
export function lowerBound(sids: Int32Array, least: number, from = 0): number {
  let low = from;
  let high = sids.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (sids[middle] < least) low = middle + 1;
    else high = middle;
  }
  return low;
}
