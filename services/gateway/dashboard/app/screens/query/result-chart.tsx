import { useSignal } from '@preact/signals';
import { useMemo } from 'preact/hooks';

import { parameter, setParameters } from '../../core/route.js';
import { seriesText } from '../../data/promql.js';
import { useExemplars } from '../../data/use-exemplars.js';
import type { SqlResult } from '../../data/sql-result.js';
import { exactText, unitOf, valueText, VALUE_UNITS, type ValueUnit } from '../../format/numbers.js';
import { setRange } from '../../time/page-range.js';
import type { TimeRange } from '../../time/range.js';
import { Chart } from '../../widgets/chart/chart.js';
import { ChartOptions, kindOf, scaleOf } from '../../widgets/chart/chart-options.js';
import type { ChartExemplar } from '../../widgets/chart/exemplars/exemplar-choice.js';
import type { ChartSeries } from '../../widgets/chart/series.js';
import { chartPlan, type ChartPlan } from '../../data/auto-chart.js';
import { seriesOfRows } from '../../widgets/chart/rows-series.js';
import type { QueryOutcome } from './run.js';

type DrawnOutcome = Extract<QueryOutcome, { kind: 'rows' | 'series' }>;

/** Grouping more rows would hold up the page. */
const ROWS_DRAWN_MAX = 500_000;

/** A result as a chart that fits it: lines over time, bars by name, or one number. */
export function ResultChart({ outcome }: { readonly outcome: DrawnOutcome }) {
  if (outcome.kind === 'series') return <SeriesChart outcome={outcome} />;
  const { rows, rowCount } = outcome;
  const plan = chartPlan(rows.columns, rowCount);
  if (plan === undefined) {
    return <p class="dim">A chart needs a column of numbers, and one of times or at most 100 rows with a name each.</p>;
  }
  if (plan.kind === 'stat') return <Statistics rows={rows} plan={plan} />;
  if (plan.kind === 'bars') return <Bars rows={rows} rowCount={rowCount} plan={plan} />;
  return <RowsChart rows={rows} rowCount={rowCount} plan={plan} isRunning={outcome.state === 'running'} />;
}

function SeriesChart({ outcome }: { readonly outcome: Extract<QueryOutcome, { kind: 'series' }> }) {
  const { result, range, stepSeconds, query } = outcome;
  const series = useMemo(
    () =>
      result.series.map(({ labels, times, values }): ChartSeries => {
        const text = seriesText(labels);
        return { key: text, label: text === '{}' ? query.text : text, labels, times, values };
      }),
    [result],
  );
  const { exemplars, failure } = useExemplars(stepSeconds === 0 ? undefined : query.text, range);
  const name = /[a-zA-Z_:][\w:]*(?=\s*[{[]|\s*$)/.exec(query.text)?.[0] ?? '';
  return (
    <>
      <DrawnChart
        title={query.text.slice(0, 200)}
        series={series}
        exemplars={exemplars}
        range={range}
        stepMs={stepSeconds === 0 ? undefined : stepSeconds * 1000}
        unit={unitOf(name, /\b(i?rate|deriv)\s*\(/.test(query.text))}
        defaultKind={stepSeconds === 0 ? 'points' : 'line'}
        onZoom={setRange}
      />
      {failure !== '' && <p class="dim">Exemplars could not be loaded: {failure}</p>}
    </>
  );
}

interface RowsChartProps {
  readonly rows: SqlResult;
  readonly rowCount: number;
  readonly plan: ChartPlan;
  readonly isRunning: boolean;
}

function RowsChart({ rows, rowCount, plan, isRunning }: RowsChartProps) {
  const count = Math.min(rowCount, ROWS_DRAWN_MAX);
  // While rows arrive, drawing would take longer than reading them.
  const data = useMemo(() => (isRunning ? undefined : seriesOfRows(rows, count, plan)), [rows, count, isRunning]);
  const zoomedTo = useSignal<TimeRange | undefined>(undefined);
  if (data === undefined) return <p class="dim">Drawn when all rows have arrived…</p>;
  return (
    <>
      {count < rowCount && <p class="notice">The first {count} rows are drawn.</p>}
      {data.isTruncated && <p class="notice">The first 2000 series are drawn: group by fewer columns.</p>}
      <DrawnChart
        title={plan.values.map((column) => rows.columns[column].name).join(', ')}
        series={data.series}
        range={zoomedTo.value ?? data.range}
        onZoom={(range) => (zoomedTo.value = range)}
        onZoomOut={() => (zoomedTo.value = undefined)}
        stepMs={undefined}
        unit={unitOf(rows.columns[plan.values[0]].name)}
        defaultKind={data.hasRepeats ? 'points' : 'line'}
      />
    </>
  );
}

const NO_EXEMPLARS: readonly ChartExemplar[] = [];

interface DrawnChartProps {
  readonly title: string;
  readonly series: readonly ChartSeries[];
  readonly exemplars?: readonly ChartExemplar[];
  readonly range: TimeRange;
  readonly stepMs: number | undefined;
  readonly unit: ValueUnit;
  readonly defaultKind: 'line' | 'points';
  readonly onZoom: (range: TimeRange) => void;
  readonly onZoomOut?: () => void;
}

/** A chart whose choices are in the address. */
function DrawnChart(props: DrawnChartProps) {
  const { title, series, exemplars = NO_EXEMPLARS, range, stepMs, unit, defaultKind, onZoom, onZoomOut } = props;
  const linked = parameter('kind');
  const kind = linked === '' ? defaultKind : kindOf(linked);
  const chosen = VALUE_UNITS.find((name) => name === parameter('unit')) ?? unit;
  const scale = scaleOf(parameter('y'));
  return (
    <>
      <div class="row">
        <ChartOptions
          kind={kind}
          onKind={(name) => setParameters({ kind: name === defaultKind ? undefined : name })}
          scale={scale}
          onScale={(name) => setParameters({ y: name === 'lin' ? undefined : name })}
          unit={chosen}
          onUnit={(name) => setParameters({ unit: name === unit ? undefined : name })}
        />
      </div>
      <Chart
        title={title}
        series={series}
        exemplars={exemplars}
        unit={chosen}
        range={range}
        kind={kind}
        scale={scale}
        stepMs={stepMs}
        selection={parameter('off')}
        onSelection={(off) => setParameters({ off: off === '' ? undefined : off }, { replaces: true })}
        onZoom={onZoom}
        {...(onZoomOut === undefined ? {} : { onZoomOut })}
        heightPx={360}
      />
    </>
  );
}

/** Bars by name, the longest first. */
function Bars({
  rows,
  rowCount,
  plan,
}: {
  readonly rows: SqlResult;
  readonly rowCount: number;
  readonly plan: ChartPlan;
}) {
  const [column] = plan.values;
  const unit = unitOf(rows.columns[column].name);
  const all = Array.from({ length: rowCount }, (_, row) => ({
    name: plan.labels.map((label) => String(rows.value(label, row) ?? 'NULL')).join(' '),
    value: Number(rows.value(column, row) ?? NaN),
  })).sort((a, b) => b.value - a.value);
  const greatest = Math.max(0, ...all.map(({ value }) => Math.abs(value)).filter(Number.isFinite));
  return (
    <table class="plain query-bars">
      <caption>{rows.columns[column].name}</caption>
      <tbody>
        {all.map(({ name, value }, i) => (
          <tr key={i}>
            <th scope="row">
              <bdi>{name.slice(0, 200)}</bdi>
            </th>
            <td class="query-bar">
              <span style={{ width: `${greatest === 0 ? 0 : (Math.abs(value) / greatest) * 100}%` }} />
            </td>
            <td class="number" title={exactText(value)}>
              {valueText(value, unit)}
            </td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}

function Statistics({ rows, plan }: { readonly rows: SqlResult; readonly plan: ChartPlan }) {
  return (
    <dl class="query-statistics">
      {plan.values.map((column) => {
        const value = Number(rows.value(column, 0) ?? NaN);
        const { name } = rows.columns[column];
        return (
          <div key={column}>
            <dt>
              <bdi>{name}</bdi>
            </dt>
            <dd title={exactText(value)}>{valueText(value, unitOf(name))}</dd>
          </div>
        );
      })}
    </dl>
  );
}
