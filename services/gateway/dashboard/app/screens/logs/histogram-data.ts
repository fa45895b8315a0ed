import type { TimeRange } from '../../time/range.js';
import { levelOf, LEVELS, type Level } from './search/levels.js';

/** What a bar counts lines of: a level, or `other` for lines without one. */
export type CountedLevel = Level | 'other';

/** All of them, the most serious first: drawn from the bottom up. */
export const COUNTED_LEVELS: readonly CountedLevel[] = [...LEVELS, 'other'];

/** Numbers of lines of one interval. */
export interface HistogramBar {
  readonly fromMs: number;
  readonly total: number;
  readonly counts: ReadonlyMap<CountedLevel, number>;
}

/** Numbers of lines over a range. */
export interface Histogram {
  readonly range: TimeRange;
  readonly intervalMs: number;
  /** One for each interval. */
  readonly bars: readonly HistogramBar[];
  readonly total: number;
  /** Of the highest bar. */
  readonly highest: number;
  readonly totals: ReadonlyMap<CountedLevel, number>;
}

const BARS_WANTED = 100;
const INTERVALS_MS = [
  1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000, 10_000, 15_000, 30_000, 60_000, 120_000, 300_000, 600_000,
  900_000, 1_800_000, 3_600_000, 7_200_000, 10_800_000, 21_600_000, 43_200_000, 86_400_000,
];

/** Returns an interval that people know, of which the range has about 100. @returns milliseconds. */
export function histogramInterval({ fromMs, toMs }: TimeRange): number {
  const exact = (toMs - fromMs) / BARS_WANTED;
  if (exact > 86_400_000) return Math.ceil(exact / 86_400_000) * 86_400_000;
  const distance = (interval: number): number => Math.abs(Math.log(interval / exact));
  return INTERVALS_MS.reduce((best, interval) => (distance(interval) < distance(best) ? interval : best));
}

/** Makes bars of the rows of the server. @param rows level: the word of the lines, in lower case. */
export function histogramOf(
  rows: readonly { readonly bucket: number; readonly level: string; readonly lines: number }[],
  range: TimeRange,
  intervalMs: number,
): Histogram {
  const bars = Array.from({ length: Math.ceil((range.toMs - range.fromMs) / intervalMs) }, (_, i) => {
    return { fromMs: range.fromMs + i * intervalMs, total: 0, counts: new Map<CountedLevel, number>() };
  });
  const totals = new Map<CountedLevel, number>();
  for (const { bucket, level, lines } of rows) {
    const bar = bars[bucket];
    if (bar === undefined) continue;
    const counted = levelOf(level) ?? 'other';
    bar.total += lines;
    bar.counts.set(counted, (bar.counts.get(counted) ?? 0) + lines);
    totals.set(counted, (totals.get(counted) ?? 0) + lines);
  }
  const total = bars.reduce((sum, bar) => sum + bar.total, 0);
  return { range, intervalMs, bars, total, totals, highest: Math.max(0, ...bars.map((bar) => bar.total)) };
}
