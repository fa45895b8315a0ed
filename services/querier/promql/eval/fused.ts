import { NO_LABELS, type Labels } from '../../series/labels.js';
import { groupingOf, type AggregationCall, type GroupFold, type GroupReducer } from '../aggregations/aggregation.js';
import { AGGREGATIONS } from '../aggregations/registry.js';
import { isExtended } from '../functions/extended.js';
import type { FloatRange, RangeContext } from '../functions/function.js';
import { FUNCTIONS } from '../functions/registry.js';
import { newSeries, SERIES_WORK, type Env } from '../runtime/env.js';
import {
  floatSeries,
  hasSamples,
  NO_SAMPLE,
  type MutableSeries,
  type SampleSeries,
  type StepSeries,
} from '../runtime/samples.js';
import { instantPicker, loadInstant, loadRange, storeSamples, windowsAt, type Windows } from '../runtime/select.js';
import { unwrapped, type Aggregation, type Expr, type MatrixSelector, type VectorSelector } from '../syntax/ast.js';
import { floatUnit } from './over-windows.js';

/** The argument of an aggregation whose series are computed and added one by one, without a vector in between. */
export type FusedInput =
  | { readonly kind: 'instant'; readonly selector: VectorSelector }
  | {
      readonly kind: 'range';
      readonly range: MatrixSelector;
      readonly arg: Expr;
      readonly floats: FloatRange;
      readonly keepsName: boolean;
    };

/** Returns the argument of an aggregation if it is a selector, or a range function of one, that can be fused with it. */
export function fusedInput({ op, expr }: Aggregation, env: Env): FusedInput | undefined {
  if (AGGREGATIONS.get(op)?.body.kind !== 'reduce' || env.steps > env.limits.stepsPerChunk) return undefined;
  const inner = unwrapped(expr);
  if (inner.kind === 'vectorSelector') {
    return isExtended(inner) ? undefined : { kind: 'instant', selector: inner };
  }
  if (inner.kind !== 'call' || inner.args.length !== 1) return undefined;
  const [arg] = inner.args;
  const range = unwrapped(arg);
  const func = FUNCTIONS.get(inner.func.name);
  if (range.kind !== 'matrixSelector' || isExtended(range.selector) || func?.body?.kind !== 'range') return undefined;
  const { floats } = func.body;
  return floats && { kind: 'range', range, arg, floats, keepsName: func.keepsName === true };
}

/** Sets the samples of a series from a step on, as many as one unit has. Returns the step after them. */
type SeriesUnit = (series: SampleSeries, result: MutableSeries, from: number) => number;

/**
 * Aggregates series one by one.
 *
 * @returns undefined if series have histograms or start times, or a sum overflows: these need the vector.
 */
export async function fusedAggregation(
  expr: Aggregation,
  input: FusedInput,
  env: Env,
): Promise<StepSeries[] | undefined> {
  const body = AGGREGATIONS.get(expr.op)?.body;
  if (body?.kind !== 'reduce') return undefined;
  const isRange = input.kind === 'range';
  const samples = isRange ? await loadRange(input.range, env) : await loadInstant(input.selector, env);
  const grouping = await groupingOfSeries(samples, expr, env);
  if (!grouping.isPlain) return undefined;
  const run = isRange ? await rangeUnit(input, env) : await instantUnit(input.selector, env);
  const isNameDropped = isRange && !input.keepsName;
  return new FusedGroups(grouping, body.begin, { expr, env, param: undefined, label: '' }).run(
    samples,
    run,
    isNameDropped,
  );
}

async function instantUnit(selector: VectorSelector, env: Env): Promise<SeriesUnit> {
  const picker = await instantPicker(selector, env);
  return (series, result) => {
    const picked = picker.pick(series, 0, env.steps);
    if (picked !== undefined) storeSamples(series, picked, result, 0);
    return env.steps;
  };
}

async function rangeUnit(
  { range, arg, floats }: FusedInput & { readonly kind: 'range' },
  env: Env,
): Promise<SeriesUnit> {
  const windows = await windowsAt(range.selector, range.rangeMs, env);
  const context = { env, arg, rangeMs: range.rangeMs, params: [], paramExprs: [] };
  let run: { series: SampleSeries; windows: Windows; result: MutableSeries; context: RangeContext } | undefined;
  return (series, result, from) => {
    // One object for all series: there may be a million.
    run ??= { series, windows, result, context };
    run.series = series;
    run.result = result;
    return floatUnit(floats, run, from);
  };
}

/** Folds the groups of an aggregation. */
class FusedGroups {
  readonly #grouping: SeriesGrouping;
  readonly #begin: GroupReducer;
  readonly #call: AggregationCall;
  readonly #folds: (GroupFold | undefined)[];
  /** Groups in the order in which their first samples appear. */
  readonly #order: number[] = [];

  constructor(grouping: SeriesGrouping, begin: GroupReducer, call: AggregationCall) {
    this.#grouping = grouping;
    this.#begin = begin;
    this.#call = call;
    this.#folds = new Array<GroupFold | undefined>(grouping.labels.length).fill(undefined);
  }

  async run(
    samples: readonly SampleSeries[],
    run: SeriesUnit,
    isNameDropped: boolean,
  ): Promise<StepSeries[] | undefined> {
    const { env } = this.#call;
    const { limits, scheduler, steps } = env;
    const kinds = new Uint8Array(steps);
    const values = new Float64Array(steps);
    const result = floatSeries(NO_LABELS, kinds, values, isNameDropped);
    for (let i = 0; i < samples.length; i++) {
      const series = samples[i];
      kinds.fill(NO_SAMPLE);
      for (let step = 0; step < steps;) {
        if (scheduler.isDue) await scheduler.yield();
        step = run(series, result, step);
      }
      if (!hasSamples(result)) continue;
      limits.add(steps);
      this.#foldOf(this.#grouping.groups[i]).add(result);
    }
    const results: StepSeries[] = [];
    for (const group of this.#order) {
      const fold = this.#foldOf(group);
      if (fold.needsSeries === true) return undefined;
      const result = newSeries(this.#grouping.labels[group], env, isNameDropped);
      await scheduler.finish(fold.finish(result));
      results.push(result);
    }
    return results;
  }

  #foldOf(group: number): GroupFold {
    let fold = this.#folds[group];
    if (fold === undefined) {
      fold = this.#begin(this.#call, []);
      this.#folds[group] = fold;
      this.#order.push(group);
    }
    return fold;
  }
}

/** The groups of series in an aggregation. */
interface SeriesGrouping {
  /** Group of each series. */
  readonly groups: Int32Array;
  /** Labels of each group. */
  readonly labels: readonly Labels[];
  /** Whether all samples are floats without start times. */
  readonly isPlain: boolean;
}

/** Number of groupings that are kept for the same series. */
const GROUPINGS_MAX = 8;
/** Groupings by series, which may be those of many queries, and by the labels of the grouping. */
const GROUPINGS = new WeakMap<readonly SampleSeries[], Map<string, SeriesGrouping>>();

async function groupingOfSeries(
  samples: readonly SampleSeries[],
  expr: Aggregation,
  env: Env,
): Promise<SeriesGrouping> {
  const known = GROUPINGS.get(samples) ?? new Map<string, SeriesGrouping>();
  const key = JSON.stringify([expr.isWithout, expr.grouping]);
  let grouping = known.get(key);
  if (grouping === undefined) {
    grouping = await newGrouping(samples, groupingOf(expr), env);
    if (known.size >= GROUPINGS_MAX) known.clear();
    known.set(key, grouping);
    GROUPINGS.set(samples, known);
  }
  return grouping;
}

async function newGrouping(
  samples: readonly SampleSeries[],
  labelsOf: (labels: Labels) => Labels,
  { scheduler }: Env,
): Promise<SeriesGrouping> {
  const groups = new Int32Array(samples.length);
  const labels: Labels[] = [];
  const byKey = new Map<string, number>();
  let isPlain = true;
  let next = 0;
  await scheduler.each(samples, SERIES_WORK, (series) => {
    const own = labelsOf(series.labels);
    let group = byKey.get(own.key);
    if (group === undefined) {
      group = labels.length;
      labels.push(own);
      byKey.set(own.key, group);
    }
    groups[next++] = group;
    isPlain &&= series.histograms === undefined && series.startTimes === undefined;
  });
  return { groups, labels, isPlain };
}
