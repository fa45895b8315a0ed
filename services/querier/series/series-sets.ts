/** Sets of series: their numbers, ascending. */
export const NO_SERIES = new Int32Array(0);

export function sidsBelow(count: number): Int32Array {
  const all = new Int32Array(count);
  for (let sid = 0; sid < count; sid++) all[sid] = sid;
  return all;
}

/** The numbers, each of which is there once, as a set. They may be changed. @param count all are below. */
export function sortSids(sids: Int32Array, count: number): Int32Array {
  // Where most series are meant, marks are cheaper than sorting.
  if (sids.length * 8 <= count) return sids.sort();
  const marks = new Uint8Array(count);
  for (const sid of sids) marks[sid] = 1;
  let at = 0;
  for (let sid = 0; sid < count; sid++) if (marks[sid] === 1) sids[at++] = sid;
  return sids;
}
