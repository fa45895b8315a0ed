import type { VectorMatching } from '../syntax/ast.js';
import { SERIES_WORK } from '../runtime/env.js';
import { type Labels } from '../../series/labels.js';
import { METRIC_NAME } from '#shared/schema/metric-table';
import type { Scheduler } from '../runtime/scheduler.js';
import { NO_SAMPLE, type StepSeries } from '../runtime/samples.js';

/** Returns the function from the labels of a series to those that its partner must share. */
export function matchingLabels(matching: VectorMatching): (labels: Labels) => Labels {
  if (matching.isOn) {
    const names = matchedNames(matching);
    return (labels) => labels.only(names);
  }
  if (matching.labels.length === 0) return (labels) => labels.unnamed;
  const names = new Set([...matching.labels, METRIC_NAME]);
  return (labels) => labels.without(names);
}

/** Returns the names of `on` or `ignoring`: the same set for the same node. */
export function matchedNames(matching: VectorMatching): ReadonlySet<string> {
  const names = NAMES.get(matching) ?? new Set(matching.labels);
  NAMES.set(matching, names);
  return names;
}

const NAMES = new WeakMap<VectorMatching, ReadonlySet<string>>();

/** Series of both sides with the same matching labels. */
export interface MatchGroup {
  readonly labels: Labels;
  readonly lhs: StepSeries[];
  readonly rhs: StepSeries[];
}

/** Groups the series of both sides by their matching labels, in order of appearance. */
export async function matchGroups(
  lhs: readonly StepSeries[],
  rhs: readonly StepSeries[],
  signature: (labels: Labels) => Labels,
  scheduler: Scheduler,
): Promise<MatchGroup[]> {
  const groups = new Map<string, MatchGroup>();
  const groupOf = (series: StepSeries): MatchGroup => {
    const labels = signature(series.labels);
    let group = groups.get(labels.key);
    if (group === undefined) {
      group = { labels, lhs: [], rhs: [] };
      groups.set(labels.key, group);
    }
    return group;
  };
  await scheduler.each(lhs, SERIES_WORK, (series) => groupOf(series).lhs.push(series));
  await scheduler.each(rhs, SERIES_WORK, (series) => groupOf(series).rhs.push(series));
  return [...groups.values()];
}

/** Returns the series at the steps where the mask has a value; undefined if no sample is left. */
export function masked(series: StepSeries, mask: Uint8Array, selected: 0 | 1): StepSeries | undefined {
  const kinds = series.kinds.slice();
  let isEmpty = true;
  for (let step = 0; step < kinds.length; step++) {
    if (mask[step] !== selected) kinds[step] = NO_SAMPLE;
    if (kinds[step] !== NO_SAMPLE) isEmpty = false;
  }
  return isEmpty ? undefined : { ...series, kinds };
}
