import { AlmanacError } from '#shared/errors/almanac-error';

import { NeumaierSum } from '../neumaier.js';
import { timeOf } from '../env.js';
import { after } from '../limits.js';
import type { RangeContext, RangeFunction } from './function.js';
import { floatsIn, noteIgnored, perWindow, type Window } from '../window.js';

/** The slope for each second, around the first sample. */
export const deriv: RangeFunction = perWindow((window, context) => {
  const first = firstFloat(window);
  return first < 0 ? undefined : fit(window, window.series.times[first], context, ({ slope }) => slope);
});

/** The value that the line through the samples has some seconds after the time of evaluation. */
export const predictLinear: RangeFunction = perWindow((window, context) => {
  return fit(window, timeOf(context.env, window.step), context, ({ slope, intercept }) => {
    return slope * context.params[0][window.step] + intercept;
  });
});

/** Holt's double exponential smoothing: the last smoothed value. */
export const doubleExponentialSmoothing: RangeFunction = perWindow((window, context) => {
  const [smoothing, trend] = context.params.map((values) => values[window.step]);
  checkFactor('smoothing', 'sf', smoothing);
  checkFactor('trend', 'tf', trend);
  const values = floatsIn(window);
  if (values.length > 0 && values.length < window.to - window.from) noteIgnored(window.series, context);
  if (values.length < 2) return undefined;
  let before = 0;
  let now = values[0];
  let slope = values[1] - values[0];
  const smoothed = context.env.limits.inTurns(values.length, (from, to) => {
    for (let i = Math.max(from, 1); i < to; i++) {
      if (i > 1) slope = trend * (now - before) + (1 - trend) * slope;
      before = now;
      now = smoothing * values[i] + (1 - smoothing) * (now + slope);
    }
  });
  return after(smoothed, () => now);
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

/** Something of the line of least squares through the numbers of a window; undefined for fewer than two. */
function fit(
  window: Window,
  originMs: number,
  context: RangeContext,
  of: (line: Line) => number,
): number | undefined | Promise<number | undefined> {
  const { series, from, to } = window;
  const sums = { x: new NeumaierSum(), y: new NeumaierSum(), xy: new NeumaierSum(), xx: new NeumaierSum() };
  let count = 0;
  let level = 0;
  let isConstant = true;
  const added = context.env.limits.inTurns(to - from, (first, end) => {
    for (let i = from + first; i < from + end; i++) {
      if (series.histograms?.[i] !== undefined) continue;
      const x = (series.times[i] - originMs) / 1000;
      const y = series.values[i];
      if (count === 0) level = y;
      else if (y !== level) isConstant = false;
      count++;
      sums.x.add(x);
      sums.y.add(y);
      sums.xy.add(x * y);
      sums.xx.add(x * x);
    }
  });
  return after(added, () => {
    if (count > 0 && count < to - from) noteIgnored(window.series, context);
    if (count < 2) return undefined;
    if (isConstant) return of(Number.isFinite(level) ? { slope: 0, intercept: level } : { slope: NaN, intercept: NaN });
    return of(lineOf(sums, count));
  });
}

type LineSums = Readonly<Record<'x' | 'y' | 'xy' | 'xx', NeumaierSum>>;

function lineOf(sums: LineSums, count: number): Line {
  const [x, y] = [sums.x.value, sums.y.value];
  const covariance = sums.xy.value - (x * y) / count;
  const variance = sums.xx.value - (x * x) / count;
  const slope = covariance / variance;
  return { slope, intercept: y / count - (slope * x) / count };
}
