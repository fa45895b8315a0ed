import type { ChartSeries, SeriesStatistics } from './series.js';

/** A column of numbers of a legend. */
export type StatisticName = keyof SeriesStatistics;

/** The columns, in their order. */
export const STATISTIC_NAMES: readonly StatisticName[] = ['last', 'min', 'max', 'avg', 'count'];

/** How a legend is sorted. */
export interface LegendSort {
  readonly by: 'name' | StatisticName;
  readonly isDescending: boolean;
}

/**
 * Returns the positions of series whose names or labels have all words, sorted.
 *
 * @param sort undefined: the order of the series.
 */
export function legendRows(
  series: readonly ChartSeries[],
  statistics: readonly SeriesStatistics[],
  words: string,
  sort: LegendSort | undefined,
): readonly number[] {
  const wanted = words
    .toLowerCase()
    .split(/\s+/)
    .filter((word) => word !== '');
  const found = series.flatMap((one, i) => (wanted.length === 0 || matches(one, wanted) ? [i] : []));
  if (sort === undefined) return found;
  const { by, isDescending } = sort;
  const sign = isDescending ? -1 : 1;
  if (by === 'name') return found.sort((a, b) => sign * compareTexts(series[a].label, series[b].label));
  return found.sort((a, b) => compareNumbers(statistics[a][by], statistics[b][by], sign));
}

/** Returns the sort after a click on a column: descending, ascending, unsorted; names ascend first. */
export function nextSort(sort: LegendSort | undefined, by: LegendSort['by']): LegendSort | undefined {
  const isFirstDescending = by !== 'name';
  if (sort?.by !== by) return { by, isDescending: isFirstDescending };
  return sort.isDescending === isFirstDescending ? { by, isDescending: !isFirstDescending } : undefined;
}

function matches({ label, labels }: ChartSeries, words: readonly string[]): boolean {
  const pairs = Object.entries(labels).map(([name, value]) => `${name}=${value}`);
  const text = [label, ...pairs].join('\n').toLowerCase();
  return words.every((word) => text.includes(word));
}

function compareTexts(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}

/** Series without a value are last in both directions. */
function compareNumbers(a: number, b: number, sign: number): number {
  if (Number.isNaN(a) || Number.isNaN(b)) return Number(Number.isNaN(a)) - Number(Number.isNaN(b));
  return a === b ? 0 : a < b ? -sign : sign;
}
