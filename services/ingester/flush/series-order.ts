import { NO_METRIC } from '#shared/schema/metric-table';

/** Order of series in the segments of a metric table. */
export interface SeriesOrder {
  /** Series number -> position. */
  readonly placeOf: Uint32Array;
  /** Position -> series number. */
  readonly sids: Uint32Array;
  /** Series number -> metric number. */
  readonly metrics: Uint32Array;
}

/**
 * Orders series by metric, then by number.
 * @param metrics metric number of each series: its own, an earlier one's, or none.
 */
export function orderByMetric(metrics: Uint32Array): SeriesOrder {
  const count = metrics.length;
  const next = new Uint32Array(count + 2);
  const slotOf = (metric: number): number => (metric === NO_METRIC ? count : metric);
  for (const metric of metrics) next[slotOf(metric) + 1]++;
  for (let slot = 1; slot <= count + 1; slot++) next[slot] += next[slot - 1];
  const placeOf = new Uint32Array(count);
  const sids = new Uint32Array(count);
  for (let sid = 0; sid < count; sid++) {
    const place = next[slotOf(metrics[sid])]++;
    placeOf[sid] = place;
    sids[place] = sid;
  }
  return { placeOf, sids, metrics };
}
