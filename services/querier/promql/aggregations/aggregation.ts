import { type Labels } from '../../series/labels.js';
import { METRIC_NAME } from '#shared/schema/metric-table';
import type { Env } from '../runtime/env.js';
import type { MutableSeries, StepSeries } from '../runtime/samples.js';
import type { Units } from '../runtime/scheduler.js';
import type { Aggregation } from '../syntax/ast.js';
import type { AggregationSignature } from '../syntax/signature.js';

/** Series that are aggregated together. */
export interface Group {
  readonly labels: Labels;
  /** In order of appearance. */
  readonly series: readonly StepSeries[];
  readonly isNameDropped: boolean;
}

/** An aggregation with its evaluated parameter. */
export interface AggregationCall {
  readonly expr: Aggregation;
  readonly env: Env;
  /** Values of a scalar parameter, one per step. */
  readonly param: Float64Array | undefined;
  /** Value of a string parameter. */
  readonly label: string;
}

/** The state of a group whose series are added one by one. */
export interface GroupFold {
  /** Adds a series. Its arrays may be used for another series afterwards, unless it has histograms. */
  add(series: StepSeries): void;
  /** Computes the result, step by step. */
  finish(result: MutableSeries): Units<void>;
  /** Whether the result also depends on the series themselves, because a sum overflowed; then `finish` needs them. */
  readonly needsSeries?: boolean;
}

/** Begins the fold of a group. @param series of the group, if they are known and kept. */
export type GroupReducer = (call: AggregationCall, series: readonly StepSeries[]) => GroupFold;

/** Returns series of a group, each at the steps at which it is selected. */
export type GroupPicker = (group: Group, call: AggregationCall) => Promise<StepSeries[]>;

/** A PromQL aggregation: signature, documentation and body. */
export interface PromAggregation extends AggregationSignature {
  /** One sentence for `docs/promql.md`. */
  readonly doc: string;
  /** Checks the parameter once per query, also if there are no series. @throws `execute_query`. */
  readonly checkParam?: (call: AggregationCall) => void;
  readonly body:
    | { readonly kind: 'reduce'; readonly begin: GroupReducer }
    | { readonly kind: 'pick'; readonly run: GroupPicker }
    /** Groups the series itself. */
    | {
        readonly kind: 'whole';
        readonly run: (series: readonly StepSeries[], call: AggregationCall) => Promise<StepSeries[]>;
      };
}

/**
 * Returns the function from the labels of a series to those of its group.
 *
 * @param added label that the aggregation itself sets; `without` then keeps the metric name.
 */
export function groupingOf({ grouping, isWithout }: Aggregation, added?: string): (labels: Labels) => Labels {
  if (isWithout) {
    const removed = new Set(added === undefined ? [...grouping, METRIC_NAME] : grouping);
    return (labels) => labels.without(removed);
  }
  const kept = added === undefined ? keptNames(grouping) : new Set([...grouping, added]);
  return (labels) => labels.only(kept);
}

/** Returns the names of `by` as a set: the same one for the same list, for which labels keep their groups. */
function keptNames(grouping: readonly string[]): ReadonlySet<string> {
  const names = KEPT_NAMES.get(grouping) ?? new Set(grouping);
  KEPT_NAMES.set(grouping, names);
  return names;
}

const KEPT_NAMES = new WeakMap<readonly string[], ReadonlySet<string>>();
