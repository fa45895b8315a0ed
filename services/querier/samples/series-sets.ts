/** Sets of series: their numbers, ascending. */
export const NO_SERIES = new Int32Array(0);

export function allBelow(count: number): Int32Array {
  const all = new Int32Array(count);
  for (let sid = 0; sid < count; sid++) all[sid] = sid;
  return all;
}

/** The lists have no number in common. */
export function union(lists: readonly Int32Array[], count: number): Int32Array {
  if (lists.length === 1) return lists[0];
  let length = 0;
  for (const list of lists) length += list.length;
  const joined = new Int32Array(length);
  // Where most series are meant, marks are cheaper than sorting.
  if (length * 8 > count) {
    const marks = new Uint8Array(count);
    for (const list of lists) for (const sid of list) marks[sid] = 1;
    let at = 0;
    for (let sid = 0; sid < count; sid++) if (marks[sid] === 1) joined[at++] = sid;
    return joined;
  }
  let at = 0;
  for (const list of lists) {
    joined.set(list, at);
    at += list.length;
  }
  return joined.sort();
}
