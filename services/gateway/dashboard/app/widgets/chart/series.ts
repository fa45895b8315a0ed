/** A line of a chart. */
export interface ChartSeries {
  /** Identifies the series when it is loaded again, such as all of its labels as text. */
  readonly key: string;
  /** Name, for people. */
  readonly label: string;
  /** What the series differs by from others; the legend shows each pair. */
  readonly labels: Readonly<Record<string, string>>;
  /** Milliseconds since 1970, ascending. */
  readonly times: Float64Array;
  /** As many as times. NaN is a gap. */
  readonly values: Float64Array;
}

/** How values are drawn; `bars` and `area` are stacked. */
export type ChartKind = 'line' | 'bars' | 'points' | 'area';
/** The vertical axis: around the values, logarithmic, or with zero. */
export type ChartScale = 'lin' | 'log' | 'zero';

/** Bounds of the vertical axis; undefined ones depend on the values. */
export interface ValueBounds {
  readonly min?: number | undefined;
  readonly max?: number | undefined;
}

/** What a legend and a limit of series need of the values of a series. */
export interface SeriesStatistics {
  /** NaN if there is no value, as are the others. */
  readonly last: number;
  readonly min: number;
  readonly max: number;
  readonly avg: number;
  readonly count: number;
}

/** Returns statistics of all values that are numbers. */
export function statisticsOf(values: Float64Array): SeriesStatistics {
  let [last, min, max, sum, count] = [NaN, Infinity, -Infinity, 0, 0];
  for (let i = 0; i < values.length; i++) {
    const value = values[i];
    if (Number.isNaN(value)) continue;
    last = value;
    if (value < min) min = value;
    if (value > max) max = value;
    sum += value;
    count++;
  }
  return count === 0 ? { last, min: NaN, max: NaN, avg: NaN, count } : { last, min, max, avg: sum / count, count };
}

/** Returns the positions of the series with the largest maxima, in the order of the series. */
export function largestSeries(statistics: readonly SeriesStatistics[], count: number): readonly number[] {
  const all = statistics.map((_, i) => i);
  if (all.length <= count) return all;
  const size = (i: number): number => (Number.isNaN(statistics[i].max) ? -Infinity : statistics[i].max);
  // Equal maxima must not make the difference of two infinities.
  const byMax = all.sort((a, b) => (size(a) === size(b) ? a - b : size(a) < size(b) ? 1 : -1));
  return byMax.slice(0, count).sort((a, b) => a - b);
}

/** Returns the names of labels that are not the same in all series. */
export function differingLabels(series: readonly Pick<ChartSeries, 'labels'>[]): ReadonlySet<string> {
  const differing = new Set<string>();
  const [first] = series;
  if (first === undefined) return differing;
  for (const { labels } of series) {
    for (const name in labels) if (labels[name] !== first.labels[name]) differing.add(name);
    for (const name in first.labels) if (!Object.hasOwn(labels, name)) differing.add(name);
  }
  return differing;
}

/** Returns a label as a matcher of a selector: `job="node"`. */
export function pairText(name: string, value: string): string {
  return `${name}=${JSON.stringify(value)}`;
}

/**
 * Returns the position of the sample of a series that is nearest to a time.
 *
 * @returns -1 if none is within `toleranceMs`.
 */
export function nearestSample(times: Float64Array, timeMs: number, toleranceMs: number): number {
  let [low, high] = [0, times.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if (times[middle] < timeMs) low = middle + 1;
    else high = middle;
  }
  const isBeforeNearer = low > 0 && (low === times.length || timeMs - times[low - 1] < times[low] - timeMs);
  const nearest = isBeforeNearer ? low - 1 : low;
  return nearest < times.length && Math.abs(times[nearest] - timeMs) <= toleranceMs ? nearest : -1;
}
