import type { Aggregation } from '../syntax/ast.js';
import type { Env } from '../runtime/env.js';
import type { Labels } from '../../series/labels.js';
import type { MutableSeries, StepSeries } from '../runtime/samples.js';

/** The series that come together, and what is known of the whole. */
export interface Group {
  readonly labels: Labels;
  /** In order of appearance. */
  readonly series: readonly StepSeries[];
  readonly isNameDropped: boolean;
}

export interface AggregationCall {
  readonly expr: Aggregation;
  readonly env: Env;
  /** The parameter at each step, for those that have one. */
  readonly param: Float64Array | undefined;
}

/** Makes one series of a group. A promise where it may take long: others are served meanwhile. */
export type GroupReducer = (group: Group, result: MutableSeries, call: AggregationCall) => void | Promise<void>;
