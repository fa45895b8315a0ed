import { useSignal } from '@preact/signals';
import { useEffect, useMemo } from 'preact/hooks';

import { linkTo, parameter, setParameters } from '../../core/route.js';
import { database } from '../../data/sql.js';
import { promData, queryRange, seriesText, type PromResult } from '../../data/promql.js';
import { useExemplars } from '../../data/use-exemplars.js';
import { useLoaded } from '../../data/use-loaded.js';
import { VALUE_UNITS } from '../../format/numbers.js';
import { pageRange, rangeNow, reloadCount, setRange } from '../../time/page-range.js';
import { autoStepSeconds, type TimeRange } from '../../time/range.js';
import { Chart } from '../../widgets/chart/chart.js';
import { boundsOf, ChartOptions, kindOf, scaleOf } from '../../widgets/chart/chart-options.js';
import { heatmapCells } from '../../widgets/chart/heatmap-cells.js';
import type { ChartSeries } from '../../widgets/chart/series.js';
import { FailureText } from '../../widgets/failure-text.js';
import { FilterBar } from './filter-bar.js';
import { selectorText } from './filters.js';
import { kindOfMetric, metricCharts, rateWindow, type MetricChart, type MetricFacts } from './metric-kind.js';
import { loadingCount, manualReloads, metricFilters, splitBy } from './metrics-state.js';

/** Steps on this many pixels make a line that is as smooth as the screen shows. */
const STEP_PX = 2;
/** The reply has one series more than a chart draws, so that it is known whether there are others. */
const [SERIES_LIMIT, SERIES_LIMIT_ALL] = [201, 2001];

/** The charts of a metric, chosen by its type. */
export function MetricView({ facts }: { readonly facts: MetricFacts }) {
  const { value: labels, failure } = useLoaded(
    (signal) => {
      const parameters = new URLSearchParams({ 'match[]': selectorText(facts.name, []) });
      return promData<readonly string[]>('labels', parameters, signal);
    },
    [facts.name, database(), manualReloads.value],
  );
  const kind = labels === undefined ? undefined : kindOfMetric(facts, labels);
  return (
    <div class="stack">
      <p class="dim">
        {kind ?? ''}
        {facts.help === '' ? '' : ` · ${facts.help}`}
      </p>
      <FailureText text={failure} />
      {labels !== undefined && (
        <>
          <FilterBar metric={facts.name} labels={labels.filter((label) => !RESERVED.has(label))} />
          <MetricChartsOf facts={facts} labels={labels} />
        </>
      )}
    </div>
  );
}

/** Labels that charts need themselves. */
const RESERVED: ReadonlySet<string> = new Set(['__name__', 'le']);

function MetricChartsOf({ facts, labels }: { readonly facts: MetricFacts; readonly labels: readonly string[] }) {
  const { from, to } = pageRange.value;
  const loads = useSignal(0);
  useEffect(() => {
    // Otherwise values that take longer than the interval would never arrive.
    if (loadingCount.peek() === 0) loads.value++;
  }, [reloadCount.value]);
  // Each load shows the range as it is then.
  const range = useMemo(rangeNow, [from, to, loads.value]);
  const stepSeconds = autoStepSeconds(range, Math.max(300, innerWidth / 2) / STEP_PX);
  const filters = metricFilters.value;
  const charts = useMemo(
    () => metricCharts(facts, labels, filters, splitBy.value, rateWindow(stepSeconds)),
    [facts, labels, filters, splitBy.value, stepSeconds],
  );
  return (
    <>
      <div class="row">
        <ChartOptions
          kind={kindOf(parameter('kind'))}
          onKind={(kind) => setParameters({ kind: kind === 'line' ? undefined : kind })}
          scale={scaleOf(parameter('y'))}
          onScale={(scale) => setParameters({ y: scale === 'lin' ? undefined : scale })}
          bounds={boundsOf(parameter('min'), parameter('max'))}
          onBounds={({ min, max }) => setParameters({ min: min?.toString(), max: max?.toString() })}
          unit={chosenUnit() ?? charts[0].unit}
          onUnit={(unit) => setParameters({ unit: unit === charts[0].unit ? undefined : unit })}
        />
      </div>
      {charts.map((chart, i) => (
        <LoadedChart key={chart.title} chart={chart} range={range} stepSeconds={stepSeconds} isFirst={i === 0} />
      ))}
    </>
  );
}

interface LoadedChartProps {
  readonly chart: MetricChart;
  readonly range: TimeRange;
  readonly stepSeconds: number;
  /** The chosen unit and bounds apply to it. */
  readonly isFirst: boolean;
}

function LoadedChart({ chart, range, stepSeconds, isFirst }: LoadedChartProps) {
  const isAll = useSignal(false);
  const limit = isAll.value ? SERIES_LIMIT_ALL : SERIES_LIMIT;
  const texts = chart.queries.map(({ query }) => query).join('\n');
  const { value, failure, isLoading } = useLoaded(
    async (signal) => {
      const aligned = alignedRange(range, stepSeconds * 1000);
      const run = (query: string): Promise<PromResult> => queryRange(query, aligned, stepSeconds, { signal, limit });
      const [buckets, ...results] = await Promise.all([
        chart.bucketQuery === undefined ? undefined : run(chart.bucketQuery),
        ...chart.queries.map(({ query }) => run(query)),
      ]);
      const cells = buckets && heatmapCells(drawn(buckets, ''), stepSeconds * 1000);
      return {
        results,
        range,
        stepSeconds,
        cells,
        series: results.flatMap((one, i) => drawn(one, chart.queries[i].name)),
      };
    },
    [texts, range, stepSeconds, limit, database()],
  );
  // All queries of a chart select the same series. Values come first: a browser has few connections.
  const exemplars = useExemplars(value && chart.queries[0]?.query, value?.range ?? range);
  useEffect(() => {
    if (!isLoading) return;
    loadingCount.value++;
    return () => void loadingCount.value--;
  }, [isLoading]);
  return (
    <section class="panel stack" aria-label={chart.title}>
      <FailureText text={failure} />
      <Remarks remarks={remarksOf(value?.results ?? [])} />
      {value === undefined ? (
        failure === '' && <p class="loading">Loading…</p>
      ) : (
        <Chart
          title={chart.title}
          series={value.series}
          unit={(isFirst ? chosenUnit() : undefined) ?? chart.unit}
          {...(isFirst ? { bounds: boundsOf(parameter('min'), parameter('max')) } : {})}
          range={value.range}
          stepMs={value.stepSeconds * 1000}
          cells={value.cells}
          exemplars={exemplars.exemplars}
          kind={kindOf(parameter('kind'))}
          scale={scaleOf(parameter('y'))}
          selection={parameter('off')}
          onSelection={(off) => setParameters({ off: off === '' ? undefined : off }, { replaces: true })}
          onZoom={setRange}
          isStale={isLoading}
          isTruncated={value.results.some(({ series }) => series.length >= limit)}
          {...(isAll.value ? {} : { onAll: () => (isAll.value = true) })}
        />
      )}
      {exemplars.failure !== '' && <p class="dim">Exemplars could not be loaded: {exemplars.failure}</p>}
      <details class="dim">
        <summary>Queries</summary>
        {chart.queries.map(({ query }) => (
          <p key={query}>
            <a href={linkTo('query', { mode: 'promql', q: query })}>
              <code>{query}</code>
            </a>
          </p>
        ))}
      </details>
    </section>
  );
}

function Remarks({ remarks }: { readonly remarks: readonly string[] }) {
  if (remarks.length === 0) return null;
  return (
    <details class="notice">
      <summary>{remarks.length === 1 ? 'One remark' : `${remarks.length} remarks`} of the server</summary>
      {remarks.map((remark) => (
        <p key={remark}>{remark}</p>
      ))}
    </details>
  );
}

/** Samples at multiples of the step do not move when the range does, and the server has most of them in its cache. */
function alignedRange({ fromMs, toMs }: TimeRange, stepMs: number): TimeRange {
  const from = Math.ceil(fromMs / stepMs) * stepMs;
  return { fromMs: from, toMs: Math.max(from, toMs) };
}

/** Returns what the server remarks on its results; the chart itself says that there are more series. */
function remarksOf(results: readonly PromResult[]): readonly string[] {
  const all = results.flatMap(({ warnings, infos }) => [...warnings, ...infos]);
  return [...new Set(all)].filter((remark) => !remark.includes('truncated due to limit'));
}

function chosenUnit(): MetricChart['unit'] | undefined {
  const name = parameter('unit');
  return VALUE_UNITS.find((unit) => unit === name);
}

function drawn({ series }: PromResult, name: string): ChartSeries[] {
  return series.map(({ labels, times, values }) => {
    const shown = name === '' ? labels : { __name__: name, ...labels };
    const text = seriesText(labels);
    const label = name === '' ? text : text === '{}' ? name : `${name} ${text}`;
    return { key: `${name} ${text}`, label, labels: shown, times, values };
  });
}
