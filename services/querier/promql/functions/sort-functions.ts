import { compareBytes, compareLabels } from '../../series/labels.js';
import { sortedInSlices } from '../../series/sliced-collections.js';
import { FLOAT_SAMPLE, floatSeries, NO_SAMPLE, type StepSeries } from '../runtime/samples.js';
import { stringOf, vectorOf, type FunctionDefinition, type ValueCall, type ValueFunction } from './function.js';

const INEFFECTIVE = 'sort is ineffective for range queries since results are always ordered by labels';

function sorted(
  compare: (one: StepSeries, other: StepSeries, call: ValueCall) => number,
  keepsHistograms: boolean,
): ValueFunction {
  return {
    kind: 'value',
    isWhole: true,
    async run(call) {
      const { env, args, expr } = call;
      let series = [...vectorOf(args[0])];
      if (!keepsHistograms) series = series.flatMap(withoutHistograms);
      if (!env.isInstant) env.annotations.warn(INEFFECTIVE, expr);
      else series = await sortedInSlices(series, (one, other) => compare(one, other, call), env.scheduler);
      return { kind: 'vector', series };
    },
  };
}

function withoutHistograms(series: StepSeries): StepSeries[] {
  if (series.histograms === undefined) return [series];
  const kinds = series.kinds.map((kind) => (kind === FLOAT_SAMPLE ? FLOAT_SAMPLE : NO_SAMPLE));
  const { labels, values, isNameDropped } = series;
  return kinds.includes(FLOAT_SAMPLE) ? [floatSeries(labels, kinds, values, isNameDropped)] : [];
}

/** Compares values of the only step; NaN is last in both directions. */
function byValue(sign: 1 | -1): (one: StepSeries, other: StepSeries) => number {
  return ({ values: [a] }, { values: [b] }) => {
    if (Number.isNaN(a)) return Number.isNaN(b) ? 0 : 1;
    if (Number.isNaN(b) || a === b) return a === b ? 0 : -1;
    return a < b ? -sign : sign;
  };
}

function byLabels(one: StepSeries, other: StepSeries, { args }: ValueCall): number {
  for (const name of args.slice(1).map(stringOf)) {
    const order = compareNatural(one.labels.get(name), other.labels.get(name));
    if (order !== 0) return order;
  }
  return compareLabels(one.labels, other.labels);
}

const RUNS = /\d+|\D+/g;

/** Natural order of texts: runs of digits compare as numbers, so `cpu2` sorts before `cpu10`. */
function compareNatural(one: string, other: string): number {
  const ones = one.match(RUNS) ?? [];
  const others = other.match(RUNS) ?? [];
  const length = Math.min(ones.length, others.length);
  for (let i = 0; i < length; i++) {
    if (ones[i] === others[i]) continue;
    const areNumbers = /^\d/.test(ones[i]) && /^\d/.test(others[i]);
    const order = areNumbers ? compareBigInts(BigInt(ones[i]), BigInt(others[i])) : compareBytes(ones[i], others[i]);
    if (order !== 0) return order;
  }
  return ones.length - others.length || compareBytes(one, other);
}

function compareBigInts(one: bigint, other: bigint): number {
  return one < other ? -1 : one > other ? 1 : 0;
}

/** Functions that sort the result of an instant query. */
export const SORT_FUNCTIONS: readonly FunctionDefinition[] = [
  {
    name: 'sort',
    args: { v: 'vector' },
    keepsValues: true,
    keepsName: true,
    doc: 'Sorts by value, ascending; histograms are dropped. Only instant queries have an order.',
    body: sorted(byValue(1), false),
  },
  {
    name: 'sort_desc',
    args: { v: 'vector' },
    keepsValues: true,
    keepsName: true,
    doc: 'Sorts by value, descending; histograms are dropped.',
    body: sorted(byValue(-1), false),
  },
  {
    name: 'sort_by_label',
    args: { v: 'vector', label: 'string' },
    keepsValues: true,
    variadic: -1,
    isExperimental: true,
    keepsName: true,
    doc: 'Sorts by the values of labels in natural order, in which `cpu2` comes before `cpu10`.',
    body: sorted(byLabels, true),
  },
  {
    name: 'sort_by_label_desc',
    args: { v: 'vector', label: 'string' },
    keepsValues: true,
    variadic: -1,
    isExperimental: true,
    keepsName: true,
    doc: 'Sorts as `sort_by_label`, in the opposite order.',
    body: sorted((one, other, call) => -byLabels(one, other, call), true),
  },
];
