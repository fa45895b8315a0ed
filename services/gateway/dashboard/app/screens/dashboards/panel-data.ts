import { queryInstant, queryRange, seriesText, type PromResult } from '../../data/promql.js';
import { runSql } from '../../data/sql.js';
import type { SqlResult } from '../../data/sql-result.js';
import { onlyReads } from '../../data/statements.js';
import type { TimeRange } from '../../time/range.js';
import { chartPlan } from '../../data/auto-chart.js';
import { heatmapCells, type HeatmapCells } from '../../widgets/chart/heatmap-cells.js';
import { seriesOfRows } from '../../widgets/chart/rows-series.js';
import type { ChartSeries } from '../../widgets/chart/series.js';
import type { Panel, PanelQuery } from './document.js';
import { expanded, legendText, type MacroValues } from './macros.js';

/** A number of a panel, with its name. */
export interface NamedNumber {
  readonly name: string;
  readonly value: number;
}

/** What a panel draws. */
export type PanelData =
  | {
      readonly kind: 'series';
      readonly series: readonly ChartSeries[];
      readonly cells: HeatmapCells | undefined;
      readonly stepMs: number | undefined;
      readonly range: TimeRange;
    }
  | { readonly kind: 'numbers'; readonly numbers: readonly NamedNumber[] }
  | { readonly kind: 'rows'; readonly rows: SqlResult }
  | { readonly kind: 'none'; readonly reason: string };

const ROWS_MAX = 100_000;
const SERIES_MAX = 200;

/** Runs the queries of a panel. @throws RequestError, or an Error that says why a query is not run. */
export async function loadPanel(panel: Panel, values: MacroValues, signal: AbortSignal): Promise<PanelData> {
  const queries = panel.queries.filter(({ q }) => q.trim() !== '');
  if (panel.type === 'text' || queries.length === 0) return { kind: 'none', reason: 'The panel has no query.' };
  return panel.mode === 'sql' ? loadRows(panel, queries, values, signal) : loadSeries(panel, queries, values, signal);
}

async function loadRows(
  { type }: Panel,
  queries: readonly PanelQuery[],
  values: MacroValues,
  signal: AbortSignal,
): Promise<PanelData> {
  const results = await Promise.all(
    queries.map(async ({ q }) => {
      const text = expanded(q, 'sql', values);
      // Opening a stored dashboard must not change anything.
      if (!onlyReads(text)) throw new Error('The statements of a panel may only read.');
      return runSql(text, { signal, limit: ROWS_MAX, isReadOnly: true });
    }),
  );
  if (type === 'table') return { kind: 'rows', rows: results[0] };
  const drawn = results.map((rows) => ({ rows, plan: chartPlan(rows.columns, rows.rowCount) }));
  if (type === 'stat') {
    return {
      kind: 'numbers',
      numbers: drawn.flatMap(({ rows, plan }) => (plan === undefined ? [] : lastNumbers(rows, plan.values))),
    };
  }
  const all = drawn.flatMap(({ rows, plan }) =>
    plan?.kind === 'line' ? [seriesOfRows(rows, rows.rowCount, plan)] : [],
  );
  if (all.length === 0) return { kind: 'none', reason: 'A chart needs a column of times and one of numbers.' };
  return {
    kind: 'series',
    series: all.flatMap(({ series }, i) => named(series, queries[i]?.legend ?? '', i, all.length > 1)),
    ...{ cells: undefined, stepMs: undefined, range: values.range },
  };
}

/** Series of several statements may have the same labels. */
function named(series: readonly ChartSeries[], legend: string, query: number, isOneOfSeveral: boolean): ChartSeries[] {
  return series.map((one) => ({
    ...one,
    key: isOneOfSeveral ? `${query} ${one.key}` : one.key,
    ...(legend === '' ? {} : { label: legendText(legend, one.labels), labels: {} }),
  }));
}

function lastNumbers(rows: SqlResult, columns: readonly number[]): NamedNumber[] {
  const last = rows.rowCount - 1;
  return columns.map((column) => ({
    name: rows.columns[column].name,
    value: Number(rows.value(column, last) ?? NaN),
  }));
}

async function loadSeries(
  { type }: Panel,
  queries: readonly PanelQuery[],
  values: MacroValues,
  signal: AbortSignal,
): Promise<PanelData> {
  const { range, stepSeconds } = values;
  const isInstant = type === 'stat' || type === 'table';
  const results = await Promise.all(
    queries.map(({ q }) => {
      const text = expanded(q, 'promql', values);
      const options = { signal, limit: SERIES_MAX };
      return isInstant ? queryInstant(text, range.toMs, options) : queryRange(text, range, stepSeconds, options);
    }),
  );
  const series = results.flatMap((result, i) => drawn(result, queries[i].legend, i, results.length > 1));
  if (isInstant) {
    const numbers = series.map(({ label, values: own }) => ({ name: label, value: own[own.length - 1] ?? NaN }));
    return { kind: 'numbers', numbers };
  }
  const stepMs = stepSeconds * 1000;
  if (type === 'heatmap') return { kind: 'series', series: [], cells: heatmapCells(series, stepMs), stepMs, range };
  return { kind: 'series', series, cells: undefined, stepMs, range };
}

function drawn({ series }: PromResult, legend: string, query: number, isOneOfSeveral: boolean): ChartSeries[] {
  return series.map(({ labels, times, values }) => {
    const text = seriesText(labels);
    // The legend shows the labels of a series, or else its name.
    const name = legend === '' ? { label: text, labels } : { label: legendText(legend, labels), labels: {} };
    return { key: isOneOfSeveral ? `${query} ${text}` : text, ...name, times, values };
  });
}
