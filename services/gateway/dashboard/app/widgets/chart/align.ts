import type { ChartSeries } from './series.js';

/** Values at each time of a chart: null is a gap, undefined a time that only other series have. */
export type PlotValues = Float64Array | (number | null | undefined)[];

/** Series with common times. */
export interface AlignedSeries {
  /** Milliseconds since 1970, ascending. */
  readonly times: Float64Array;
  readonly values: readonly PlotValues[];
  /** For each series the positions of points without neighbours, which no line shows. */
  readonly lone: readonly (readonly number[])[];
}

/** A step that would need more points is no grid: gaps are added one by one instead. */
const GRID_POINTS_MAX = 50_000;
/** Steps without a sample after which a line is interrupted. */
const GAP_STEPS = 1.5;

/**
 * Brings series to common times.
 *
 * @param stepMs distance of samples: where one is missing, the line has a gap. Undefined: lines connect all samples.
 * @param isLog whether values that are not positive are left out.
 */
export function alignSeries(series: readonly ChartSeries[], stepMs: number | undefined, isLog: boolean): AlignedSeries {
  const grid = stepMs === undefined ? undefined : gridOf(series, stepMs);
  const { times, values } =
    grid === undefined ? onUnion(series, stepMs, isLog) : onGrid(series, grid, stepMs ?? 1, isLog);
  return { times, values, lone: values.map(lonePoints) };
}

type TimesAndValues = Omit<AlignedSeries, 'lone'>;

interface Grid {
  readonly startMs: number;
  readonly count: number;
}

/** Returns the grid that all times are on, to the millisecond; undefined if there is none. */
function gridOf(series: readonly ChartSeries[], stepMs: number): Grid | undefined {
  let [startMs, endMs] = [Infinity, -Infinity];
  for (const { times } of series) {
    if (times.length === 0) continue;
    startMs = Math.min(startMs, times[0]);
    endMs = Math.max(endMs, times[times.length - 1]);
  }
  if (startMs > endMs) return undefined;
  const count = Math.round((endMs - startMs) / stepMs) + 1;
  if (count > GRID_POINTS_MAX) return undefined;
  for (const { times } of series) {
    for (let i = 0; i < times.length; i++) {
      const steps = (times[i] - startMs) / stepMs;
      if (Math.abs(steps - Math.round(steps)) * stepMs > 1) return undefined;
    }
  }
  return { startMs, count };
}

function onGrid(
  series: readonly ChartSeries[],
  { startMs, count }: Grid,
  stepMs: number,
  isLog: boolean,
): TimesAndValues {
  const times = Float64Array.from({ length: count }, (_, i) => Math.round(startMs + i * stepMs));
  const values = series.map((one): PlotValues => {
    if (one.times.length === count && isDrawable(one.values, isLog)) return one.values;
    const filled = new Array<number | null>(count).fill(null);
    for (let i = 0; i < one.times.length; i++) {
      filled[Math.round((one.times[i] - startMs) / stepMs)] = drawable(one.values[i], isLog);
    }
    return filled;
  });
  return { times, values };
}

function onUnion(series: readonly ChartSeries[], stepMs: number | undefined, isLog: boolean): TimesAndValues {
  const gapMs = stepMs === undefined ? Infinity : stepMs * GAP_STEPS;
  const [first] = series;
  if (first !== undefined && gapMs === Infinity && series.every(({ times }) => isEqual(times, first.times))) {
    return { times: first.times, values: series.map(({ values }) => drawableValues(values, isLog)) };
  }
  const times = unionOf(series, gapMs, stepMs ?? 0);
  return { times, values: series.map((one) => spread(one, times, gapMs, isLog)) };
}

/** All times, and one in each gap. */
function unionOf(series: readonly ChartSeries[], gapMs: number, stepMs: number): Float64Array {
  const added: number[] = [];
  let count = 0;
  for (const { times } of series) {
    count += times.length;
    for (let i = 1; i < times.length; i++) if (times[i] - times[i - 1] > gapMs) added.push(times[i - 1] + stepMs);
  }
  const all = new Float64Array(count + added.length);
  let at = 0;
  for (const { times } of series) {
    all.set(times, at);
    at += times.length;
  }
  all.set(added, at);
  all.sort();
  let kept = 0;
  for (let i = 0; i < all.length; i++) if (i === 0 || all[i] !== all[i - 1]) all[kept++] = all[i];
  return all.subarray(0, kept);
}

function spread(one: ChartSeries, all: Float64Array, gapMs: number, isLog: boolean): PlotValues {
  const values = new Array<number | null | undefined>(all.length).fill(undefined);
  let at = 0;
  for (let i = 0; i < one.times.length; i++) {
    const isGap = i > 0 && one.times[i] - one.times[i - 1] > gapMs;
    while (all[at] < one.times[i]) values[at++] ??= isGap ? null : undefined;
    values[at] = drawable(one.values[i], isLog);
  }
  return values;
}

/** Returns the value to draw; null for one that has no place on the axis. */
function drawable(value: number, isLog: boolean): number | null {
  return Number.isFinite(value) && (!isLog || value > 0) ? value : null;
}

function drawableValues(values: Float64Array, isLog: boolean): PlotValues {
  return isDrawable(values, isLog) ? values : Array.from(values, (value) => drawable(value, isLog));
}

function isDrawable(values: Float64Array, isLog: boolean): boolean {
  for (let i = 0; i < values.length; i++) if (drawable(values[i], isLog) === null) return false;
  return true;
}

function isEqual(a: Float64Array, b: Float64Array): boolean {
  if (a === b) return true;
  if (a.length !== b.length) return false;
  for (let i = 0; i < a.length; i++) if (a[i] !== b[i]) return false;
  return true;
}

function lonePoints(values: PlotValues): readonly number[] {
  const lone: number[] = [];
  let isAfterGap = true;
  let candidate = -1;
  for (let i = 0; i < values.length; i++) {
    const value = values[i];
    if (value === undefined) continue;
    if (value === null) {
      if (candidate >= 0) lone.push(candidate);
      candidate = -1;
    } else candidate = isAfterGap ? i : -1;
    isAfterGap = value === null;
  }
  if (candidate >= 0) lone.push(candidate);
  return lone;
}
