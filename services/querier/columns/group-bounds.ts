import { METRIC_FIELD_ID, SID_FIELD_ID } from '#shared/schema/segment-columns';

import { UnknownLayout } from '#shared/parquet/compact-protocol';
import type { ColumnChunks, SegmentFooter } from './footer.js';

/** Least and greatest values of the sort keys in each row group of a segment, both included. */
export interface GroupBounds {
  /** Column of the time index. */
  readonly times: ColumnChunks;
  /** Units of the time index in a millisecond. */
  readonly perMs: number;
  /** Milliseconds since 1970, rounded down. */
  readonly firstMs: Float64Array;
  readonly lastMs: Float64Array;
  readonly sidFirst: Float64Array;
  readonly sidLast: Float64Array;
  /** Metric numbers; undefined if the file is not sorted by metric. */
  readonly metrics: { readonly first: Float64Array; readonly last: Float64Array } | undefined;
}

const PER_MS: Readonly<Record<string, number>> = { millis: 1, micros: 1000, nanos: 1_000_000 };

/** By footer, because every query of the file needs them. */
const known = new WeakMap<SegmentFooter, GroupBounds>();

/**
 * Returns the bounds of the row groups of a file.
 *
 * @param timeId column ID of the time index, of which a file has one
 * @throws `UnknownLayout` if the engine must read the file.
 */
export function groupBounds(footer: SegmentFooter, timeId: number): GroupBounds {
  let bounds = known.get(footer);
  if (bounds === undefined) {
    bounds = boundsOf(footer, timeId);
    known.set(footer, bounds);
  }
  return bounds;
}

function boundsOf({ columns, otherIds }: SegmentFooter, timeId: number): GroupBounds {
  const times = columns.get(timeId);
  if (times?.min === undefined || times.max === undefined || !Object.hasOwn(PER_MS, times.logicalType)) {
    throw new UnknownLayout('no times');
  }
  if (otherIds.has(METRIC_FIELD_ID)) throw new UnknownLayout('metric numbers');
  const perMs = PER_MS[times.logicalType];
  const [sidFirst, sidLast] = endsOf(columns.get(SID_FIELD_ID));
  const metric = columns.get(METRIC_FIELD_ID);
  const metricEnds = metric === undefined ? undefined : endsOf(metric);
  return {
    ...{ times, perMs, sidFirst, sidLast },
    firstMs: Float64Array.from(times.min, (time) => flooredQuotient(time, perMs)),
    lastMs: Float64Array.from(times.max, (time) => flooredQuotient(time, perMs)),
    metrics: metricEnds === undefined ? undefined : { first: metricEnds[0], last: metricEnds[1] },
  };
}

function endsOf(column: ColumnChunks | undefined): [Float64Array, Float64Array] {
  if (column?.min === undefined || column.max === undefined || column.logicalType !== 'number') {
    throw new UnknownLayout('no series');
  }
  return [Float64Array.from(column.min, Number), Float64Array.from(column.max, Number)];
}

/** Divides and rounds down. */
export function flooredQuotient(time: bigint, divisor: number): number {
  const by = BigInt(divisor);
  const remainder = ((time % by) + by) % by;
  return Number((time - remainder) / by);
}
