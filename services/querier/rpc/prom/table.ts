import { utf8Bytes } from '#shared/bytes/utf8';
import type { PromQueryRequest, ResultColumn, SqlEvent } from '#shared/contracts/gen/querier';
import type { Cell, ValueType } from '#shared/duckdb/chunk-reader';
import type { ResultFormat } from '#shared/formats/format';
import type { MetricNames } from '#shared/schema/metric-table';

import { unwrapped, type Expr } from '../../promql/syntax/ast.js';
import type { Histogram } from '../../promql/histogram/histogram.js';
import { histogramJson } from '../../promql/histogram/histogram-text.js';
import type { PromResult } from '../../promql/index.js';
import { compareBytes, type Labels } from '../../series/labels.js';
import { METRIC_NAME } from '#shared/schema/metric-table';
import { printExpr } from '../../promql/syntax/print.js';
import { FLOAT_SAMPLE, NO_SAMPLE, type SampleSeries, type StepSeries } from '../../promql/runtime/samples.js';
import { applyLimit } from './envelope.js';

const TEXT: ValueType = { name: 'String', kind: 'text' };
const TIME: ValueType = { name: 'TimestampMillisecond', kind: 'int' };
const NUMBER: ValueType = { name: 'Float64', kind: 'float64' };
const JSON_TEXT: ValueType = { name: 'Json', kind: 'json' };

/** Number of rows per event. */
const BLOCK_ROWS = 2048;

/** A row of a table: the sample of a series at a time. */
interface SampleRow {
  readonly labels: Labels | undefined;
  readonly timeMs: number;
  readonly value: number | undefined;
  readonly histogram: Histogram | undefined;
}

interface TableColumn {
  readonly name: string;
  readonly type: ValueType;
  readonly cellOf: (sample: SampleRow) => Cell;
}

/**
 * Returns a result as a table: a column for each label, the time and the value; a row for each sample.
 *
 * @param names of the columns that store metrics.
 */
export function* tableOf(
  request: PromQueryRequest,
  format: ResultFormat,
  result: PromResult,
  expr: Expr,
  names: MetricNames,
): Iterable<SqlEvent> {
  const columns = columnsOf(result, expr, names);
  const schema = columns.map(({ name, type }): ResultColumn => ({ name, type: type.name }));
  yield { ...EVENT, kind: 'schema', schema };
  let rows = 0;
  for (const block of blocks(samplesOf(request, result))) {
    const cells = columns.map(({ cellOf }) => block.map(cellOf));
    const text = format.encodeRows(columns, cells, block.length);
    rows += block.length;
    yield { ...EVENT, kind: 'text', text: utf8Bytes(text), rows: block.length };
  }
  yield { ...EVENT, kind: 'end', rows };
}

const EVENT: SqlEvent = { statement: 0, kind: '', schema: [], text: new Uint8Array(0), rows: 0, affectedRows: 0 };

function columnsOf({ value }: PromResult, expr: Expr, names: MetricNames): TableColumn[] {
  const number = (sample: SampleRow): Cell => sample.value ?? null;
  const time = (sample: SampleRow): Cell => sample.timeMs;
  if (value.kind === 'scalar' || value.kind === 'string') {
    const valueColumn =
      value.kind === 'scalar'
        ? { name: 'value', type: NUMBER, cellOf: number }
        : { name: 'value', type: TEXT, cellOf: (): Cell => value.value };
    return [{ name: 'time', type: TIME, cellOf: time }, valueColumn];
  }
  const labels = new Set(value.series.flatMap(({ labels }) => labels.names));
  labels.delete(METRIC_NAME);
  const labelColumns = [...labels].sort(compareBytes).map((name): TableColumn => {
    return { name, type: TEXT, cellOf: ({ labels }) => labels?.get(name) ?? '' };
  });
  const inner = unwrapped(expr).kind;
  const isMetric = inner === 'vectorSelector' || inner === 'matrixSelector';
  const valueName = isMetric ? names.valueColumn : printExpr(expr);
  const columns = [
    ...labelColumns,
    { name: names.timeColumn, type: TIME, cellOf: time },
    { name: valueName, type: NUMBER, cellOf: number },
  ];
  const hasHistograms = value.series.some(({ histograms }) => histograms !== undefined);
  if (!hasHistograms) return columns;
  const cellOf = ({ histogram }: SampleRow): Cell => (histogram === undefined ? null : histogramJson(histogram));
  return [...columns, { name: names.histogramColumn, type: JSON_TEXT, cellOf }];
}

function samplesOf(request: PromQueryRequest, { value, steps }: PromResult): Iterable<SampleRow> {
  const { startMs, endMs, stepMs, limit } = request;
  const timeAt = (step: number): number => (stepMs === 0 ? endMs : startMs + step * stepMs);
  switch (value.kind) {
    case 'string':
      return [{ labels: undefined, histogram: undefined, timeMs: endMs, value: undefined }];
    case 'scalar':
      return Array.from({ length: steps }, (_, step) => {
        return { labels: undefined, histogram: undefined, timeMs: timeAt(step), value: value.values[step] };
      });
    case 'matrix':
      return rangeSamples(applyLimit(value.series, limit).items);
    case 'vector':
      return stepSamples(applyLimit(value.series, limit).items, timeAt);
  }
}

function* rangeSamples(all: readonly SampleSeries[]): Iterable<SampleRow> {
  for (const { labels, times, values, histograms } of all) {
    for (let i = 0; i < times.length; i++) {
      const histogram = histograms?.[i];
      yield { labels, timeMs: times[i], value: histogram === undefined ? values[i] : undefined, histogram };
    }
  }
}

function* stepSamples(all: readonly StepSeries[], timeAt: (step: number) => number): Iterable<SampleRow> {
  for (const { labels, kinds, values, histograms } of all) {
    for (let step = 0; step < kinds.length; step++) {
      if (kinds[step] === NO_SAMPLE) continue;
      const sample = { labels, timeMs: timeAt(step) };
      if (kinds[step] === FLOAT_SAMPLE) yield { ...sample, value: values[step], histogram: undefined };
      else yield { ...sample, value: undefined, histogram: histograms?.[step] };
    }
  }
}

function* blocks<T>(items: Iterable<T>): Iterable<T[]> {
  let block: T[] = [];
  for (const item of items) {
    block.push(item);
    if (block.length < BLOCK_ROWS) continue;
    yield block;
    block = [];
  }
  if (block.length > 0) yield block;
}
