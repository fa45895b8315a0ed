import type { Segment } from '#shared/contracts/gen/common';
import { tagsOf } from '#shared/schema/table-schema';
import { overlaps, type Band, type TimeBounds } from '#shared/segments/bands';

import type { BindRequest, TableRead } from './binding.js';
import type { EngineView } from './engine-rows.js';
import type { RowFilter } from './row-filter.js';
import type { MatchingSeries, TagValues } from './series-table.js';
import type { BoundSegment } from './sources.js';

/** What a query reads of a region. */
export interface ChosenRegion {
  readonly view: EngineView;
  readonly matching: MatchingSeries;
  /** Number of segments that may have rows in the time range. */
  readonly inTime: number;
  /** Those that may have rows of its series too. */
  readonly segments: readonly BoundSegment[];
}

/**
 * Returns the rows of a region with a later sequence; a segment with some of them is read as a whole.
 *
 * @param skipsMerged whether merged segments with some of them are left out.
 */
function laterRows(view: EngineView, after: bigint, skipsMerged: boolean): EngineView {
  const segments = view.manifest.segments.filter(({ sequenceFrom, sequenceTo, isMerged = false }) => {
    return sequenceTo > after && !(skipsMerged && isMerged && sequenceFrom < after);
  });
  const parts = view.parts
    .filter(({ part, rowCount }) => part.sequenceFrom + BigInt(rowCount) > after)
    // The rows of a part have successive sequences.
    .map((it) => ({ ...it, skipCount: Math.max(0, Number(after - it.part.sequenceFrom)) }));
  return { ...view, manifest: { ...view.manifest, segments }, parts };
}

/** Returns a view with the rows that a request needs. */
export function requestedRows(view: EngineView, { after, everyVersion = false }: BindRequest): EngineView {
  if (after === undefined) return view;
  return laterRows(view, after.get(view.manifest.regionId) ?? 0n, everyVersion);
}

/** Reports whether a view has segments with rows on both sides of where a request begins. */
export function mayRepeat(whole: EngineView, request: BindRequest): boolean {
  if (request.after === undefined) return false;
  const after = request.after.get(whole.manifest.regionId) ?? 0n;
  return requestedRows(whole, request).manifest.segments.some(({ sequenceFrom }) => sequenceFrom < after);
}

/** Returns the segments that may have rows of a query. */
export function chosenSegments(
  { manifest }: EngineView,
  { named, metrics }: MatchingSeries,
  request: BindRequest,
): { readonly inTime: number; readonly segments: readonly Segment[] } {
  const bounds = requestedTimes(request);
  const filter = { sids: named?.sids, metrics };
  const segments: Segment[] = [];
  let inTime = 0;
  for (const segment of manifest.segments) {
    if (!overlaps(timesOf(segment), bounds)) continue;
    inTime++;
    if (mayHave(segment, filter)) segments.push(segment);
  }
  return { inTime, segments };
}

/** Counts the segments that a query does not read, for EXPLAIN. */
export function skippedOf(
  views: readonly EngineView[],
  chosen: readonly ChosenRegion[],
): Omit<TableRead, 'segments' | 'freshRows' | 'mergedFreshRows'> {
  const counts = { segmentCount: 0, outsideTime: 0, withoutSeries: 0, withoutTerms: 0 };
  for (const { manifest } of views) counts.segmentCount += manifest.segments.length;
  for (const { view, inTime, segments } of chosen) {
    counts.outsideTime += view.manifest.segments.length - inTime;
    counts.withoutSeries += inTime - segments.length;
    counts.withoutTerms += segments.filter(({ selection }) => selection.rowCount === 0).length;
  }
  return counts;
}

/** Returns the times that a request needs. */
export function requestedTimes({ timeFrom, timeTo }: BindRequest): TimeBounds {
  return { from: timeFrom, to: timeTo };
}

function timesOf({ timeFirst, timeLast }: Segment): Band {
  return { first: timeFirst, last: timeLast };
}

/** Reports whether a segment may have rows of one of the series and one of the metrics. */
function mayHave(segment: Segment, { sids, metrics }: Pick<RowFilter, 'sids' | 'metrics'>): boolean {
  if (segment.hasMetrics && metrics?.some((it) => it >= segment.metricFirst && it <= segment.metricLast) === false) {
    return false;
  }
  return sids?.some((sid) => sid >= segment.sidFirst && sid <= segment.sidLast) ?? true;
}

/** Returns the tag values of a request by column ID. */
export function tagIds({ table, tagValues }: BindRequest): TagValues {
  const ids = new Map<number, readonly string[]>();
  for (const column of tagsOf(table)) {
    const values = tagValues.get(column.name);
    if (values !== undefined) ids.set(column.id, values);
  }
  return ids;
}
