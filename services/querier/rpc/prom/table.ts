import type { PromQueryRequest, ResultColumn, SqlEvent } from '#shared/contracts/gen/querier';
import type { Cell, ValueType } from '#shared/duckdb/chunk-reader';
import type { MetricNames } from '#shared/schema/metric-table';

import { resultFormatNamed } from '#shared/formats/registry';
import { unwrapped, type Expr } from '../../promql/ast.js';
import type { Histogram } from '../../promql/histogram/histogram.js';
import { histogramJson } from '../../promql/histogram/histogram-json.js';
import type { PromAnswer } from '../../promql/index.js';
import { compareBytes, METRIC_NAME, type Labels } from '../../series/labels.js';
import { printExpr } from '../../promql/print.js';
import { FLOAT, NONE, type SampleSeries, type StepSeries } from '../../promql/samples.js';
import { cut } from './envelope.js';

const TEXT: ValueType = { name: 'String', kind: 'text' };
const TIME: ValueType = { name: 'TimestampMillisecond', kind: 'int' };
const NUMBER: ValueType = { name: 'Float64', kind: 'float64' };
const JSON_TEXT: ValueType = { name: 'Json', kind: 'json' };

/** Rows of one event. */
const BLOCK_ROWS = 2048;

/** What has a place in a table: the sample of a series at a time. */
interface Sample {
  readonly labels: Labels | undefined;
  readonly timeMs: number;
  readonly value: number | undefined;
  readonly histogram: Histogram | undefined;
}

interface TableColumn {
  readonly name: string;
  readonly type: ValueType;
  readonly cellOf: (sample: Sample) => Cell;
}

/**
 * The answer as a table: a column for each label, the time, the value; a row for each sample.
 *
 * @param stored names of the columns that metrics are stored in.
 */
export function* tableOf(
  request: PromQueryRequest,
  answer: PromAnswer,
  expr: Expr,
  stored: MetricNames,
): Iterable<SqlEvent> {
  const columns = columnsOf(answer, expr, stored);
  const schema = columns.map(({ name, type }): ResultColumn => ({ name, type: type.name }));
  yield { ...EVENT, kind: 'schema', schema };
  let rows = 0;
  for (const block of blocks(samplesOf(request, answer))) {
    const cells = columns.map(({ cellOf }) => block.map(cellOf));
    const text = resultFormatNamed('').encodeRows(columns, cells, block.length);
    rows += block.length;
    yield { ...EVENT, kind: 'text', text: Buffer.from(text), rows: block.length };
  }
  yield { ...EVENT, kind: 'end', rows };
}

const EVENT: SqlEvent = { statement: 0, kind: '', schema: [], text: new Uint8Array(0), rows: 0, affectedRows: 0 };

function columnsOf({ value }: PromAnswer, expr: Expr, stored: MetricNames): TableColumn[] {
  const number = (sample: Sample): Cell => sample.value ?? null;
  const time = (sample: Sample): Cell => sample.timeMs;
  if (value.kind === 'scalar' || value.kind === 'string') {
    const valueColumn =
      value.kind === 'scalar'
        ? { name: 'value', type: NUMBER, cellOf: number }
        : { name: 'value', type: TEXT, cellOf: (): Cell => value.value };
    return [{ name: 'time', type: TIME, cellOf: time }, valueColumn];
  }
  const names = new Set(value.series.flatMap(({ labels }) => labels.names));
  names.delete(METRIC_NAME);
  const labelColumns = [...names].sort(compareBytes).map((name): TableColumn => {
    return { name, type: TEXT, cellOf: ({ labels }) => labels?.get(name) ?? '' };
  });
  const inner = unwrapped(expr).kind;
  const isMetric = inner === 'vectorSelector' || inner === 'matrixSelector';
  const valueName = isMetric ? stored.valueColumn : printExpr(expr);
  const columns = [
    ...labelColumns,
    { name: stored.timeColumn, type: TIME, cellOf: time },
    { name: valueName, type: NUMBER, cellOf: number },
  ];
  const hasHistograms = value.series.some(({ histograms }) => histograms !== undefined);
  if (!hasHistograms) return columns;
  const cellOf = ({ histogram }: Sample): Cell => (histogram === undefined ? null : histogramJson(histogram));
  return [...columns, { name: stored.histogramColumn, type: JSON_TEXT, cellOf }];
}

function samplesOf(request: PromQueryRequest, { value, steps }: PromAnswer): Iterable<Sample> {
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
      return rangeSamples(cut(value.series, limit).items);
    case 'vector':
      return stepSamples(cut(value.series, limit).items, timeAt);
  }
}

function* rangeSamples(all: readonly SampleSeries[]): Iterable<Sample> {
  for (const { labels, times, values, histograms } of all) {
    for (let i = 0; i < times.length; i++) {
      const histogram = histograms?.[i];
      yield { labels, timeMs: times[i], value: histogram === undefined ? values[i] : undefined, histogram };
    }
  }
}

function* stepSamples(all: readonly StepSeries[], timeAt: (step: number) => number): Iterable<Sample> {
  for (const { labels, kinds, values, histograms } of all) {
    for (let step = 0; step < kinds.length; step++) {
      if (kinds[step] === NONE) continue;
      const sample = { labels, timeMs: timeAt(step) };
      if (kinds[step] === FLOAT) yield { ...sample, value: values[step], histogram: undefined };
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
