import { countText, valueText, type ValueUnit } from '../../format/numbers.js';
import { civilOf, civilText } from '../../time/civil.js';
import type { TimeRange } from '../../time/range.js';
import type { ChartSeries, SeriesStatistics } from './series.js';

/** Returns what a chart shows as a sentence: `5 series, 2026-11-21 12:00 to 13:00, highest web-1 0.93`. */
export function chartSentence(
  series: readonly ChartSeries[],
  statistics: readonly SeriesStatistics[],
  { fromMs, toMs }: TimeRange,
  { unit, zone }: { readonly unit: ValueUnit; readonly zone: string },
): string {
  const [from, to] = [fromMs, toMs].map((ms) => civilText(civilOf(ms, zone)).slice(0, -3));
  const isOneDay = from.slice(0, 10) === to.slice(0, 10);
  const parts = [`${countText(series.length)} series`, `${from} to ${isOneDay ? to.slice(11) : to}`];
  let highest = -1;
  statistics.forEach(({ max }, i) => {
    if (!Number.isNaN(max) && (highest < 0 || max > statistics[highest].max)) highest = i;
  });
  parts.push(highest < 0 ? 'no value' : `highest ${series[highest].label} ${valueText(statistics[highest].max, unit)}`);
  return parts.join(', ');
}
