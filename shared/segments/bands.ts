/** A range of times, both ends included, in the unit of a table's time index. */
export interface Band {
  readonly first: bigint;
  readonly last: bigint;
}

/** Half-open time bounds of a query; undefined means unbounded. */
export interface TimeBounds {
  readonly from: bigint | undefined;
  readonly to: bigint | undefined;
}

/** Returns whether a band has times within the bounds. */
export function overlaps(band: Band, { from, to }: TimeBounds): boolean {
  return (from === undefined || band.last >= from) && (to === undefined || band.first < to);
}

/** Returns whether two bands share a time. */
export function touches(a: Band, b: Band): boolean {
  return a.first <= b.last && b.first <= a.last;
}

/** Returns the shortest band that contains all of them; undefined if there are none. */
export function around(bands: readonly Band[]): Band | undefined {
  if (bands.length === 0) return undefined;
  return {
    first: bands.reduce((least, { first }) => (first < least ? first : least), bands[0].first),
    last: bands.reduce((greatest, { last }) => (last > greatest ? last : greatest), bands[0].last),
  };
}

/** Returns the part of a band that is within bounds; undefined if there is none. */
export function clipped({ first, last }: Band, { from, to }: TimeBounds): Band | undefined {
  const clip = {
    first: from !== undefined && from > first ? from : first,
    last: to !== undefined && to <= last ? to - 1n : last,
  };
  return clip.last < clip.first ? undefined : clip;
}

/** Returns the overlap of two bands; undefined if there is none. */
export function intersection(a: Band | undefined, b: Band): Band | undefined {
  if (a === undefined || !touches(a, b)) return undefined;
  return { first: a.first > b.first ? a.first : b.first, last: a.last < b.last ? a.last : b.last };
}

/** Returns the bands within the bounds, merged where they overlap, ascending. */
export function joinBands(bands: readonly Band[], bounds: TimeBounds): Band[] {
  const sorted = bands.filter((band) => overlaps(band, bounds)).sort((a, b) => (a.first < b.first ? -1 : 1));
  const joined: Band[] = [];
  for (const band of sorted) {
    const last = joined.at(-1);
    if (last === undefined || band.first > last.last) joined.push(band);
    else if (band.last > last.last) joined[joined.length - 1] = { first: last.first, last: band.last };
  }
  // Many separate bands make a long condition; one band around them all merges more rows, with the same result.
  if (joined.length <= BANDS_MAX) return joined;
  return [{ first: joined[0].first, last: joined[joined.length - 1].last }];
}

const BANDS_MAX = 16;
