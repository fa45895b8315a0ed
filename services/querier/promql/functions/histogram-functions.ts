import { AlmanacError } from '#shared/errors/almanac-error';

import { type Labels } from '../../series/labels.js';
import { METRIC_NAME } from '#shared/schema/metric-table';
import { rfc3339 } from '../common/calendar.js';
import { NeumaierSum } from '../common/compensated-sum.js';
import { goQuoted, isValidUtf8 } from '../common/go-string.js';
import { numberText } from '../common/number-text.js';
import { classicFraction, classicQuantile, type ClassicBucket, type Correction } from '../histogram/classic.js';
import { bucketsOf, isCustom, type Histogram } from '../histogram/histogram.js';
import { nativeFraction, nativeQuantile } from '../histogram/quantile.js';
import { metricName, quotedMetricName, type Annotations } from '../runtime/annotations.js';
import { newSeries, SERIES_WORK, stepTimeMs, type Env } from '../runtime/env.js';
import {
  FLOAT_SAMPLE,
  hasSamples,
  HISTOGRAM_SAMPLE,
  histogramAt,
  setFloat,
  type StepSeries,
} from '../runtime/samples.js';
import type { Expr } from '../syntax/ast.js';
import {
  scalarsOf,
  stringOf,
  vectorOf,
  type FunctionDefinition,
  type ValueCall,
  type ValueFunction,
} from './function.js';

const BUCKET_LABEL = 'le';
const QUANTILES_MAX = 10;

/** Cost of reading a histogram, in units of reading one float. */
const HISTOGRAM_WORK = 64;

/** Maps each histogram to a float; floats are dropped. */
function ofHistograms(map: (histogram: Histogram) => number): ValueFunction {
  return {
    kind: 'value',
    async run({ env, args }) {
      const series: StepSeries[] = [];
      for (const one of vectorOf(args[0])) {
        const result = newSeries(one.labels, env, true);
        await env.scheduler.ranges(env.steps, HISTOGRAM_WORK, (from, to) => {
          for (let step = from; step < to; step++) {
            if (one.kinds[step] === HISTOGRAM_SAMPLE) setFloat(result, step, map(histogramAt(one, step)));
          }
        });
        if (hasSamples(result)) series.push(result);
      }
      return { kind: 'vector', series };
    },
  };
}

function variance(histogram: Histogram): number {
  const mean = histogram.sum / histogram.count;
  const squares = new NeumaierSum();
  for (const { lower, upper, count } of bucketsOf(histogram)) {
    const middle = middleOf(lower, upper, isCustom(histogram));
    squares.add(count * (middle - mean) ** 2);
  }
  return squares.value / histogram.count;
}

function middleOf(lower: number, upper: number, isLinear: boolean): number {
  if (isLinear) return (lower + upper) / 2;
  if (lower <= 0 && upper >= 0) return 0;
  const size = Math.sqrt(lower * upper);
  return upper < 0 ? -size : size;
}

/** Classic buckets and native histograms with the same labels except `le`. */
interface HistogramGroup {
  /** Includes the metric name. */
  readonly labels: Labels;
  readonly classic: { readonly bound: number; readonly series: StepSeries }[];
  readonly native: StepSeries[];
}

async function groupsOf(
  vector: readonly StepSeries[],
  { annotations, scheduler }: Env,
  at: Expr,
): Promise<HistogramGroup[]> {
  const groups = new Map<string, HistogramGroup>();
  const bucketLabel = new Set([BUCKET_LABEL]);
  const groupOf = (labels: Labels): HistogramGroup => {
    let group = groups.get(labels.key);
    if (group === undefined) {
      group = { labels, classic: [], native: [] };
      groups.set(labels.key, group);
    }
    return group;
  };
  await scheduler.each(vector, SERIES_WORK, (series) => {
    scheduler.spend(series.kinds.length);
    if (series.kinds.includes(HISTOGRAM_SAMPLE)) groupOf(series.labels).native.push(series);
    if (!series.kinds.includes(FLOAT_SAMPLE)) return;
    const text = series.labels.get(BUCKET_LABEL);
    const bound = boundOf(text);
    if (bound === undefined) {
      const what = `bucket label "le" is missing or has a malformed value of ${JSON.stringify(text)}`;
      annotations.warn(`${what} for metric name ${quotedMetricName(series.labels)}`, at);
    } else {
      groupOf(series.labels.without(bucketLabel)).classic.push({ bound, series });
    }
  });
  // The buckets of each step are then in order, which is what costs most.
  for (const { classic } of groups.values()) classic.sort((a, b) => a.bound - b.bound);
  return [...groups.values()];
}

function boundOf(text: string): number | undefined {
  if (/^[+-]?inf(?:inity)?$/i.test(text)) return text.startsWith('-') ? -Infinity : Infinity;
  if (/^nan$/i.test(text)) return NaN;
  return text.trim() === text && text !== '' && Number.isFinite(Number(text)) ? Number(text) : undefined;
}

/** Computes one float per step from each classic or native histogram. */
async function estimate(
  call: ValueCall,
  vectorIndex: number,
  ofClassic: (buckets: readonly ClassicBucket[], step: number, group: HistogramGroup) => number,
  ofNative: (histogram: Histogram, step: number, group: HistogramGroup) => number,
): Promise<StepSeries[]> {
  const { env, args, expr } = call;
  const at = expr.args[vectorIndex];
  const found: StepSeries[] = [];
  for (const group of await groupsOf(vectorOf(args[vectorIndex]), env, at)) {
    const result = newSeries(group.labels, env, true);
    await env.scheduler.ranges(env.steps, HISTOGRAM_WORK + group.classic.length, (from, to) => {
      for (let step = from; step < to; step++) {
        const native = group.native.find(({ kinds }) => kinds[step] === HISTOGRAM_SAMPLE);
        const buckets = bucketsAt(group, step);
        if (native !== undefined && buckets.length > 0) {
          const text = 'vector contains a mix of classic and native histograms for metric name';
          env.annotations.warn(`${text} ${quotedMetricName(group.labels)}`, at);
        } else if (native !== undefined) {
          setFloat(result, step, ofNative(histogramAt(native, step), step, group));
        } else if (buckets.length > 0) {
          setFloat(result, step, ofClassic(buckets, step, group));
        }
      }
    });
    if (hasSamples(result)) found.push(result);
  }
  return found;
}

/** Returns the buckets that a group has at a step. */
function bucketsAt({ classic }: HistogramGroup, step: number): ClassicBucket[] {
  const found: ClassicBucket[] = [];
  for (const { bound, series } of classic) {
    if (series.kinds[step] === FLOAT_SAMPLE) found.push({ bound, count: series.values[step] });
  }
  return found;
}

/** Corrections of each metric, over all steps and series. */
class Corrections {
  readonly #all = new Map<
    string,
    Correction & { readonly count: number; readonly firstMs: number; readonly lastMs: number }
  >();

  add(name: string, found: Correction, timeMs: number): void {
    const before = this.#all.get(name);
    this.#all.set(name, {
      fromBound: Math.min(before?.fromBound ?? Infinity, found.fromBound),
      toBound: Math.max(before?.toBound ?? -Infinity, found.toBound),
      largest: Math.max(before?.largest ?? 0, found.largest),
      count: (before?.count ?? 0) + 1,
      firstMs: Math.min(before?.firstMs ?? Infinity, timeMs),
      lastMs: Math.max(before?.lastMs ?? -Infinity, timeMs),
    });
  }

  annotate(annotations: Annotations, at: Expr): void {
    const link = 'https://prometheus.io/docs/prometheus/latest/querying/functions/#histogram_quantile';
    for (const [name, { fromBound, toBound, largest, count, firstMs, lastMs }] of this.#all) {
      const what = `input to histogram_quantile needed to be fixed for monotonicity (see ${link})`;
      const bounds = `from buckets ${numberText(fromBound)} to ${numberText(toBound)}`;
      const size = `with a max diff of ${numberText(Number(largest.toPrecision(2)))}`;
      const [first, last] = [firstMs, lastMs].map((ms) => rfc3339(Math.trunc(ms / 1000)));
      const range = `from ${first} to ${last}`;
      const where = ` for metric name ${JSON.stringify(name)}`;
      annotations.info(`${what}${where}, ${bounds}, ${size}, over ${count} samples ${range}`, at);
    }
  }
}

async function quantileSeries(
  call: ValueCall,
  vectorIndex: number,
  quantiles: Float64Array,
  at: Expr,
): Promise<StepSeries[]> {
  const { env, expr } = call;
  const vectorAt = expr.args[vectorIndex];
  const corrections = new Corrections();
  await env.scheduler.ranges(quantiles.length, 1, (from, to) => {
    for (let step = from; step < to; step++) {
      const q = quantiles[step];
      if ((q >= 0 && q <= 1) || (step > 0 && Object.is(q, quantiles[step - 1]))) continue;
      env.annotations.warn(`quantile value should be between 0 and 1, got ${numberText(q)}`, at);
    }
  });
  const series = await estimate(
    call,
    vectorIndex,
    (buckets, step, { labels }) => {
      const { value, correction } = classicQuantile(quantiles[step], buckets);
      if (correction !== undefined) corrections.add(metricName(labels), correction, stepTimeMs(env, step));
      return value;
    },
    (histogram, step, { labels }) => {
      const { value, note } = nativeQuantile(quantiles[step], histogram);
      if (note !== undefined) {
        const text = `input to histogram_quantile has NaN observations, ${note} for metric name`;
        env.annotations.info(`${text} ${quotedMetricName(labels)}`, vectorAt);
      }
      return value;
    },
  );
  corrections.annotate(env.annotations, vectorAt);
  return series;
}

const histogramQuantile: ValueFunction = {
  kind: 'value',
  // The annotation about corrections covers all steps.
  isWhole: true,
  async run(call) {
    const quantiles = scalarsOf(call.args[0], call.env.steps);
    return { kind: 'vector', series: await quantileSeries(call, 1, quantiles, call.expr.args[0]) };
  },
};

const histogramQuantiles: ValueFunction = {
  kind: 'value',
  isWhole: true,
  async run(call) {
    const { args, env, expr } = call;
    const label = stringOf(args[1]);
    if (label === '' || label === METRIC_NAME || !isValidUtf8(label)) {
      throw new AlmanacError('execute_query', `invalid label name ${goQuoted(label)}`);
    }
    const series: StepSeries[] = [];
    for (const [i, arg] of args.slice(2, 2 + QUANTILES_MAX).entries()) {
      const quantiles = scalarsOf(arg, env.steps);
      const text = openMetricsText(quantiles[0]);
      const found = await quantileSeries(call, 0, quantiles, expr.args[2 + i]);
      await env.scheduler.each(found, SERIES_WORK, (one) => {
        series.push({ ...one, labels: one.labels.with(label, text) });
      });
    }
    return { kind: 'vector', series };
  },
};

/** Formats a number as OpenMetrics does: `1.0`. */
function openMetricsText(value: number): string {
  const text = numberText(value);
  return Number.isInteger(value) ? `${text}.0` : text;
}

const histogramFraction: ValueFunction = {
  kind: 'value',
  async run(call) {
    const { env, args, expr } = call;
    const lower = scalarsOf(args[0], env.steps);
    const upper = scalarsOf(args[1], env.steps);
    const series = await estimate(
      call,
      2,
      (buckets, step) => classicFraction(lower[step], upper[step], buckets),
      (histogram, step, { labels }) => {
        const { value, hasNan } = nativeFraction(lower[step], upper[step], histogram);
        if (hasNan) {
          const what = 'input to histogram_fraction has NaN observations, which are excluded from all fractions';
          env.annotations.info(`${what} for metric name ${quotedMetricName(labels)}`, expr.args[2]);
        }
        return value;
      },
    );
    return { kind: 'vector', series };
  },
};

/** Declares a function that maps each native histogram to a float. */
function histogramFunction(name: string, doc: string, map: (histogram: Histogram) => number): FunctionDefinition {
  return { name, args: { v: 'vector' }, doc, body: ofHistograms(map) };
}

/** Declares a function that reads only count and sum of native histograms. */
function statsFunction(name: string, doc: string, map: (histogram: Histogram) => number): FunctionDefinition {
  return { ...histogramFunction(name, doc, map), histogramPart: 'countAndSum' };
}

const mean = ({ sum, count }: Histogram): number => sum / count;
const stddev = (histogram: Histogram): number => Math.sqrt(variance(histogram));

/** Functions of classic and native histograms. */
export const HISTOGRAM_FUNCTIONS: readonly FunctionDefinition[] = [
  statsFunction('histogram_count', 'Number of observations of native histograms.', ({ count }) => count),
  statsFunction('histogram_sum', 'Sum of the observations of native histograms.', ({ sum }) => sum),
  statsFunction('histogram_avg', 'Mean of the observations of native histograms.', mean),
  histogramFunction('histogram_stdvar', 'Estimated variance of the observations of native histograms.', variance),
  histogramFunction('histogram_stddev', 'Square root of `histogram_stdvar`.', stddev),
  {
    name: 'histogram_quantile',
    args: { q: 'scalar', v: 'vector' },
    keepsValues: true,
    histogramPart: 'buckets',
    consumedLabel: BUCKET_LABEL,
    doc: 'Estimated `q` quantile, 0 ≤ `q` ≤ 1, of classic histograms (series with the label `le`) and native ones.',
    body: histogramQuantile,
  },
  {
    name: 'histogram_quantiles',
    args: { v: 'vector', label: 'string', q1: 'scalar', q2: 'scalar' },
    variadic: QUANTILES_MAX - 1,
    isExperimental: true,
    histogramPart: 'buckets',
    doc: 'Up to ten quantiles at once; `label` of the results holds the quantile.',
    body: histogramQuantiles,
  },
  {
    name: 'histogram_fraction',
    args: { lower: 'scalar', upper: 'scalar', v: 'vector' },
    histogramPart: 'buckets',
    doc: 'Estimated fraction of the observations between two values.',
    body: histogramFraction,
  },
];
