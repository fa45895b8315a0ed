import { around, type Band, type TimeBounds } from '#shared/segments/bands';

/** A part of the time range of a query, and whether rows in it may have several versions. */
export type ReadRange =
  | { readonly bounds: TimeBounds; readonly isLate: false }
  | { readonly bounds: { readonly from: bigint; readonly to: bigint }; readonly isLate: true };

/** Bands up to which each is a range of its own: the rows between them are read once more for each. */
const BANDS_MAX = 2;

/** Divides a time range by the late bands. @param late ascending, which do not overlap */
export function rangesOf(bounds: TimeBounds, late: readonly Band[]): ReadRange[] {
  const ranges: ReadRange[] = [];
  const all = around(late);
  const bands = late.length > BANDS_MAX && all !== undefined ? [all] : late;
  let { from } = bounds;
  for (const { first, last } of bands) {
    const lateFrom = from !== undefined && from > first ? from : first;
    const lateTo = bounds.to !== undefined && bounds.to <= last ? bounds.to : last + 1n;
    if (lateFrom >= lateTo) continue;
    if (from === undefined || from < lateFrom) ranges.push({ bounds: { from, to: lateFrom }, isLate: false });
    ranges.push({ bounds: { from: lateFrom, to: lateTo }, isLate: true });
    from = lateTo;
  }
  if (from === undefined || bounds.to === undefined || from < bounds.to) {
    ranges.push({ bounds: { from, to: bounds.to }, isLate: false });
  }
  return ranges;
}
