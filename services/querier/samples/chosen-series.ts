import type { Segment } from '#shared/contracts/gen/common';

import type { LabelIndex } from './label-index.js';

/** Series that a query wants. */
export interface Chosen {
  /** Ascending. */
  readonly sids: Int32Array;
  /** Metric number of each; undefined in tables without. */
  readonly metrics: Uint32Array | undefined;
  /** Whether these are most of the series of their metrics. */
  readonly areMost: boolean;
}

/** What leaving series out of a metric's rows costs: a third of reading them. */
const MOST = 0.75;

/** @param sids ascending. */
export function chosenFrom(index: LabelIndex | undefined, sids: Int32Array): Chosen {
  const metrics = index?.metricsOf(sids);
  const areMost = index !== undefined && metrics !== undefined && sids.length >= MOST * index.countOf(new Set(metrics));
  return { sids, metrics, areMost };
}

/** The series that the segment can have rows of. */
export function chosenIn(segment: Segment, { sids, metrics, areMost }: Chosen): Chosen {
  const { sidFirst, sidLast, hasMetrics, metricFirst, metricLast } = segment;
  const ofFile = hasMetrics ? metrics : undefined;
  const isIn = (_: number, i: number): boolean => {
    if (sids[i] < sidFirst || sids[i] > sidLast) return false;
    return ofFile === undefined || (ofFile[i] >= metricFirst && ofFile[i] <= metricLast);
  };
  return { sids: sids.filter(isIn), metrics: ofFile?.filter(isIn), areMost };
}
