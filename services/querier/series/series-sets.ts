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
