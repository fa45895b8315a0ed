import type { SqlResult } from '../../data/sql-result.js';
import type { TimeRange } from '../../time/range.js';
import type { ChartSeries } from './series.js';
import type { ChartPlan } from '../../data/auto-chart.js';

/** Series of a result, and the range of their times. */
export interface RowSeries {
  readonly series: readonly ChartSeries[];
  readonly range: TimeRange;
  /** Whether a series has several rows at one time. */
  readonly hasRepeats: boolean;
  /** Whether there are more series than are made. */
  readonly isTruncated: boolean;
}

const SERIES_MAX = 2000;

/** Makes series of the rows of a result: one for each column of numbers and each combination of labels. */
export function seriesOfRows(rows: SqlResult, rowCount: number, { time, values, labels }: ChartPlan): RowSeries {
  const groups = new Map<string, number>();
  const groupLabels: Record<string, string>[] = [];
  const groupOf = new Int32Array(rowCount).fill(-1);
  let isTruncated = false;
  for (let row = 0; row < rowCount; row++) {
    const texts = labels.map((column) => String(rows.value(column, row) ?? ''));
    const key = texts.join('\u0000');
    let group = groups.get(key);
    if (group === undefined) {
      isTruncated ||= groups.size * values.length >= SERIES_MAX;
      if (isTruncated) continue;
      groups.set(key, (group = groups.size));
      groupLabels.push(Object.fromEntries(labels.map((column, i) => [rows.columns[column].name, texts[i]])));
    }
    groupOf[row] = group;
  }
  const times = new Float64Array(rowCount);
  rows.eachNumber(time, (value, row) => (times[row] = row < rowCount ? (value ?? NaN) : NaN));
  const order = rowsByTime(groupOf, times, groups.size);
  const series = values.flatMap((column) =>
    columnSeries({ rows, column, isNamed: values.length > 1 }, groupLabels, times, order),
  );
  const known = series.flatMap(({ times: own }) => (own.length === 0 ? [] : [own[0], own[own.length - 1]]));
  const hasRepeats = series.some(({ times: own }) => own.some((value, i) => i > 0 && value === own[i - 1]));
  return { series, range: rangeOf(known), hasRepeats, isTruncated };
}

/** Returns the rows of each group in the order of their times. */
function rowsByTime(groupOf: Int32Array, times: Float64Array, groupCount: number): readonly Uint32Array[] {
  const counts = new Uint32Array(groupCount);
  const isDrawn = (row: number): boolean => groupOf[row] >= 0 && !Number.isNaN(times[row]);
  for (let row = 0; row < groupOf.length; row++) if (isDrawn(row)) counts[groupOf[row]]++;
  const rows = Array.from(counts, (count) => new Uint32Array(count));
  const filled = new Uint32Array(groupCount);
  for (let row = 0; row < groupOf.length; row++) {
    if (isDrawn(row)) rows[groupOf[row]][filled[groupOf[row]]++] = row;
  }
  for (const own of rows) own.sort((a, b) => times[a] - times[b] || a - b);
  return rows;
}

interface DrawnColumn {
  readonly rows: SqlResult;
  readonly column: number;
  /** Whether the name of the column is a label, as there are others. */
  readonly isNamed: boolean;
}

function columnSeries(
  { rows, column, isNamed }: DrawnColumn,
  groupLabels: readonly Readonly<Record<string, string>>[],
  times: Float64Array,
  order: readonly Uint32Array[],
): ChartSeries[] {
  const numbers = new Float64Array(times.length);
  rows.eachNumber(column, (value, row) => {
    if (row < numbers.length) numbers[row] = value ?? NaN;
  });
  const { name } = rows.columns[column];
  return order.map((own, group) => {
    const labels = isNamed ? { column: name, ...groupLabels[group] } : groupLabels[group];
    const texts = Object.values(labels).filter(Boolean);
    return {
      key: JSON.stringify(labels),
      label: texts.length === 0 ? name : texts.join(' '),
      labels,
      times: Float64Array.from(own, (row) => times[row]),
      values: Float64Array.from(own, (row) => numbers[row]),
    };
  });
}

function rangeOf(times: readonly number[]): TimeRange {
  let [fromMs, toMs] = [Infinity, -Infinity];
  for (const time of times) [fromMs, toMs] = [Math.min(fromMs, time), Math.max(toMs, time)];
  if (fromMs > toMs) return { fromMs: 0, toMs: 1 };
  // One instant needs some width.
  return fromMs === toMs ? { fromMs: fromMs - 500, toMs: toMs + 500 } : { fromMs, toMs };
}
