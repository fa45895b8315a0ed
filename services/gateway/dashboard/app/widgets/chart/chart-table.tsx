import { useMemo } from 'preact/hooks';

import { exactText, type ValueUnit } from '../../format/numbers.js';
import { civilOf, civilText } from '../../time/civil.js';
import { zone } from '../../time/zones.js';
import { Grid, type GridCell } from '../grid.js';
import { nearestSample, type ChartSeries } from './series.js';

const SERIES_MAX = 50;

/** The values of a chart as a table, a column for each series. */
export function ChartTable({
  title,
  series,
  unit,
}: {
  readonly title: string;
  readonly series: readonly ChartSeries[];
  readonly unit: ValueUnit;
}) {
  const shown = useMemo(() => series.slice(0, SERIES_MAX), [series]);
  const times = useMemo(() => {
    return [...new Set(shown.flatMap((one) => Array.from(one.times)))].sort((a, b) => a - b);
  }, [shown]);
  const cell = (column: number, row: number): GridCell => {
    const ms = times[row];
    if (column === 0) return { text: civilText(civilOf(ms, zone.value), ms % 1000 === 0 ? 0 : 3), hint: String(ms) };
    const { times: own, values } = shown[column - 1];
    const at = nearestSample(own, ms, 0);
    return at < 0 ? { text: '', isSpecial: true } : { text: exactText(values[at]) };
  };
  const columns = [
    { name: 'time', type: zone.value, isNumber: false },
    ...shown.map(({ label }) => ({
      name: label,
      type: unit === 'none' || unit === 'short' ? '' : unit,
      isNumber: true,
    })),
  ];
  return (
    <>
      {series.length > shown.length && (
        <p class="notice">The first {SERIES_MAX} series are shown. The CSV file has all of them.</p>
      )}
      <div class="chart-table">
        <Grid label={`Values of ${title}`} columns={columns} rowCount={times.length} cell={cell} />
      </div>
    </>
  );
}
