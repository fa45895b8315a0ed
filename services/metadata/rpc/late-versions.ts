import type { Segment } from '#shared/contracts/gen/common';

/** Bounds that determine which rows a segment may share with another. */
export type RowBounds = Pick<
  Segment,
  | 'timeFirst'
  | 'timeLast'
  | 'sidFirst'
  | 'sidLast'
  | 'sequenceFrom'
  | 'sequenceTo'
  | 'hasLate'
  | 'lateFirst'
  | 'lateLast'
>;

/** A segment with all of its times, or with those of its late rows. */
interface Span {
  readonly first: bigint;
  readonly last: bigint;
  readonly isLate: boolean;
  readonly segment: RowBounds;
}

/**
 * Returns whether a late row of one segment may be a version of a row of an older one. Late rows without older rows at
 * their times, as in a backfill, are no versions.
 *
 * Sweeps over the segments in time order and compares only those that overlap, because a manifest may have tens of
 * thousands.
 */
export function haveVersions(segments: readonly RowBounds[]): boolean {
  let older: Span[] = [];
  let late: Span[] = [];
  for (const span of spansOf(segments)) {
    const isOver = ({ last }: Span): boolean => last >= span.first;
    if (span.isLate) {
      older = older.filter(isOver);
      if (older.some(({ segment }) => mayReplace(span.segment, segment))) return true;
      late.push(span);
    } else {
      late = late.filter(isOver);
      if (late.some(({ segment }) => mayReplace(segment, span.segment))) return true;
      older.push(span);
    }
  }
  return false;
}

function spansOf(segments: readonly RowBounds[]): Span[] {
  const all = segments.map((segment): Span => {
    return { first: segment.timeFirst, last: segment.timeLast, isLate: false, segment };
  });
  const late = segments
    .filter(({ hasLate }) => hasLate)
    .map((segment): Span => {
      return { first: segment.lateFirst, last: segment.lateLast, isLate: true, segment };
    });
  return [...all, ...late].sort((a, b) => (a.first < b.first ? -1 : a.first > b.first ? 1 : 0));
}

function mayReplace(late: RowBounds, older: RowBounds): boolean {
  return older.sequenceTo <= late.sequenceFrom && older.sidFirst <= late.sidLast && older.sidLast >= late.sidFirst;
}
