import { AlmanacError } from '#shared/errors/almanac-error';

import { NeumaierSum } from '../common/compensated-sum.js';
import { stepTimeMs } from '../runtime/env.js';
import type { SampleSeries } from '../runtime/samples.js';
import { inUnits, type Units } from '../runtime/scheduler.js';
import type { FunctionDefinition, RangeContext, RangeFunction } from './function.js';
import { floatsIn, noteIgnored, perLongWindow, type Window } from './range-function.js';

/** Slope per second; times are relative to the first sample. */
const deriv: RangeFunction = perLongWindow(function* (window, context) {
  const first = firstFloat(window);
  if (first < 0) return undefined;
  return (yield* fit(window, window.series.times[first], context))?.slope;
});

const predictLinear: RangeFunction = perLongWindow(function* (window, context) {
  const line = yield* fit(window, stepTimeMs(context.env, window.step), context);
  return line && line.slope * context.params[0][window.step] + line.intercept;
});

/** Last value of Holt's double exponential smoothing. */
const doubleExponentialSmoothing: RangeFunction = perLongWindow(function* (window, context) {
  const [smoothing, trend] = context.params.map((values) => values[window.step]);
  checkFactor('smoothing', 'sf', smoothing);
  checkFactor('trend', 'tf', trend);
  const values = floatsIn(window);
  if (values.length > 0 && values.length < window.to - window.from) noteIgnored(window.series, context);
  if (values.length < 2) return undefined;
  let before = 0;
  let now = values[0];
  let slope = values[1] - values[0];
  yield* inUnits(values.length, context.env.limits, (from, to) => {
    for (let i = Math.max(from, 1); i < to; i++) {
      if (i > 1) slope = trend * (now - before) + (1 - trend) * slope;
      before = now;
      now = smoothing * values[i] + (1 - smoothing) * (now + slope);
    }
  });
  return now;
});

function checkFactor(name: string, short: string, factor: number): void {
  if (factor > 0 && factor < 1) return;
  const text = `invalid ${name} factor. Expected: 0 < ${short} < 1, got: ${factor.toFixed(6)}`;
  throw new AlmanacError('execute_query', text);
}

function firstFloat({ series, from, to }: Window): number {
  for (let i = from; i < to; i++) if (series.histograms?.[i] === undefined) return i;
  return -1;
}

interface Line {
  readonly slope: number;
  readonly intercept: number;
}

/** Fits a line through the floats of a window by least squares; undefined for fewer than two floats. */
function* fit(window: Window, originMs: number, context: RangeContext): Units<Line | undefined> {
  const { series, from, to } = window;
  const sums = new LineSums(originMs);
  yield* inUnits(to - from, context.env.limits, (first, end) => sums.add(series, from + first, from + end));
  const { count } = sums;
  if (count > 0 && count < to - from) noteIgnored(window.series, context);
  return count < 2 ? undefined : sums.line;
}

/** The sums that a least-squares line follows from. */
class LineSums {
  readonly #originMs: number;
  readonly #x = new NeumaierSum();
  readonly #y = new NeumaierSum();
  readonly #xy = new NeumaierSum();
  readonly #xx = new NeumaierSum();
  #count = 0;
  #first = 0;
  #isConstant = true;

  constructor(originMs: number) {
    this.#originMs = originMs;
  }

  get count(): number {
    return this.#count;
  }

  /** Adds the floats among the samples `[from, to)`. */
  add({ times, values, histograms }: SampleSeries, from: number, to: number): void {
    const [sumX, sumY, sumXy, sumXx] = [this.#x, this.#y, this.#xy, this.#xx];
    const originMs = this.#originMs;
    let count = this.#count;
    for (let i = from; i < to; i++) {
      if (histograms?.[i] !== undefined) continue;
      const x = (times[i] - originMs) / 1000;
      const y = values[i];
      if (count === 0) this.#first = y;
      else if (y !== this.#first) this.#isConstant = false;
      count++;
      sumX.add(x);
      sumY.add(y);
      sumXy.add(x * y);
      sumXx.add(x * x);
    }
    this.#count = count;
  }

  get line(): Line {
    const first = this.#first;
    if (this.#isConstant) {
      return Number.isFinite(first) ? { slope: 0, intercept: first } : { slope: NaN, intercept: NaN };
    }
    const count = this.#count;
    const [x, y] = [this.#x.value, this.#y.value];
    const covariance = this.#xy.value - (x * y) / count;
    const variance = this.#xx.value - (x * x) / count;
    const slope = covariance / variance;
    return { slope, intercept: y / count - (slope * x) / count };
  }
}

/** Functions that fit a model to the samples of a range. */
export const REGRESSION_FUNCTIONS: readonly FunctionDefinition[] = [
  { name: 'deriv', args: { v: 'matrix' }, doc: 'Slope per second of the line fitted by least squares.', body: deriv },
  {
    name: 'predict_linear',
    args: { v: 'matrix', t: 'scalar' },
    dependsOnTime: true,
    doc: 'Value `t` seconds after the evaluation time, on the line fitted by least squares.',
    body: predictLinear,
  },
  {
    name: 'double_exponential_smoothing',
    args: { v: 'matrix', sf: 'scalar', tf: 'scalar' },
    isExperimental: true,
    doc: "Holt's double exponential smoothing with smoothing factor `sf` and trend factor `tf`, both between 0 and 1.",
    body: doubleExponentialSmoothing,
  },
];
